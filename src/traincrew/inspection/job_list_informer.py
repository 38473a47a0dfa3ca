"""An informer for all jobs of a namespace, or of all namespaces, and their pods."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from traincrew import errors
from traincrew.client import informer, interfaces, store
from traincrew.inspection import observed_job
from traincrew.inspection.job_informer import RawObject, decode_object
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model import naming, objects, resources
from traincrew.serving import background_tasks


class JobListInformer:
    def __init__(self, reader: interfaces.Reader, namespace: str | None) -> None:
        self._changed = asyncio.Event()
        self._jobs = {kind.kind: self._kind_informer(reader, kind, namespace) for kind in KINDS}
        self._pods = informer.Informer(
            reader,
            informer.Scope(resources.PODS, namespace, naming.JOB_NAME),
            store.InformerStore(observed_job.decode_pod, self._object_changed),
        )

    def _kind_informer(self, reader: interfaces.Reader, kind: JobKind, namespace: str | None) -> informer.Informer[RawObject]:
        return informer.Informer(
            reader, informer.Scope(kind.resource, namespace), store.InformerStore(decode_object, self._object_changed)
        )

    def _object_changed(self, old: object, new: object) -> None:
        self.notify()

    def notify(self) -> None:
        """Let `changed` return."""
        self._changed.set()

    async def changed(self, seconds: float) -> None:
        """Return after the next change, or after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()

    def jobs(self) -> list[tuple[observed_job.ObservedJob, bytes]]:
        by_job: dict[tuple[str, str], list[objects.Pod]] = {}
        for pod in self._pods.store:
            by_job.setdefault((pod.metadata.namespace, pod.metadata.labels.get(naming.JOB_NAME, "")), []).append(pod)
        found = []
        for kind in KINDS:
            for each in self._jobs[kind.kind].store:
                pods = by_job.get((each.metadata.namespace, each.metadata.name), ())
                found.append((observed_job.observe(kind, each.text, pods), each.text))
        return found

    def error(self) -> str:
        """The error of the watches; empty if they work. A CRD that is not installed is not an error."""
        failures = [*(each.failure for each in self._jobs.values()), self._pods.failure]
        return next((each.message for each in failures if each is not None and not isinstance(each, errors.NotFound)), "")

    @contextlib.asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """Run the informers. The caches are synced when the context is entered, unless the server reports an error."""
        all_informers: tuple[informer.Informer[Any], ...] = (*self._jobs.values(), self._pods)
        tasks = [asyncio.create_task(each.run()) for each in all_informers]
        try:
            for each in all_informers:
                while not each.synced.is_set() and not isinstance(each.failure, errors.Forbidden | errors.Unauthorized):
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.2):  # wait_for of Python 3.11 may lose a cancellation
                            await each.synced.wait()
                if not each.synced.is_set() and each.failure is not None:
                    raise each.failure
            yield
        finally:
            await background_tasks.cancel(*tasks)
