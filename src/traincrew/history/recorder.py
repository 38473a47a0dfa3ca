"""The recorder: observes all jobs, their pods, events and usage, and writes them to the store.

It only reads from the cluster. What it has observed is written at the latest a second later; a recorder that is killed reads the
present state at its next start, and learns from it which jobs were deleted meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from traincrew import errors, settings
from traincrew.client import clock, informer, interfaces
from traincrew.history import documents, observation, pending_records
from traincrew.history.database_thread import DatabaseThread
from traincrew.history.pending_records import MAX_WAITING, PendingRecords, SampledPod
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model import meta, naming, resources
from traincrew.model.resources import Resource

if TYPE_CHECKING:  # the recorder of `up` copies no logs
    from traincrew.history.log_copier import LogCopier

log = logging.getLogger(__name__)

POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
WRITE_SECONDS = 1.0
SAMPLE_SECONDS = 5.0
RETENTION_SECONDS = 300.0
RETRY_SECONDS = 30.0
"""After an error of the store."""


class Recorder:
    def __init__(
        self, reader: interfaces.Reader, thread: DatabaseThread, options: settings.History, copier: LogCopier | None = None
    ) -> None:
        """copier: of the logs. None: the node keeps them."""
        self._reader, self._thread, self._options, self._copier = reader, thread, options, copier
        self.problem = "the first list of jobs and pods is not read yet"
        """Why nothing is recorded. Empty: it is."""
        self._is_broken = False
        self._pending = PendingRecords()
        self._wake = asyncio.Event()
        self._existing: set[str] = set()
        """UIDs of the jobs and pods that exist."""
        self._pods: dict[tuple[str, str], SampledPod] = {}
        """The pods that exist, by namespace and name."""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._run_always())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with contextlib.suppress(errors.StoreError):  # it is logged already
                await self.write()

    async def _run_always(self) -> None:
        """Until cancelled. Errors of the store are logged; the cluster does not depend on them."""
        while True:
            try:
                await self._run()
            except Exception:
                log.exception("the recorder of the history failed; it starts again")
                await asyncio.sleep(RETRY_SECONDS)

    async def _run(self) -> None:
        self._existing.clear()
        self._pods.clear()
        informers = [each for namespace in self._namespaces for each in self._informers(namespace)]
        async with asyncio.TaskGroup() as tasks:
            for each in informers:
                tasks.create_task(each.run())
            tasks.create_task(self._mark_deleted(informers))
            tasks.create_task(self._write_always())
            tasks.create_task(_every(SAMPLE_SECONDS, self._sample))
            tasks.create_task(_every(RETENTION_SECONDS, self._retain))

    @property
    def _namespaces(self) -> Sequence[str | None]:
        return self._options.namespaces or (None,)

    def _informers(self, namespace: str | None) -> Iterator[informer.Informer[Any]]:
        for kind in KINDS:
            yield observation.informer_of(self._reader, kind.resource, self._job_observer(kind), namespace=namespace)
        yield observation.informer_of(self._reader, resources.PODS, self._pod_changed, naming.JOB_NAME, namespace)
        yield observation.informer_of(self._reader, resources.EVENTS, self._event_changed, namespace=namespace)

    def _job_observer(self, kind: JobKind) -> observation.OnObserved:
        def changed(change: observation.Change) -> None:
            if not change.text:
                self._deleted(change.metadata)
                return
            self._existing.add(change.metadata.uid)
            self._pending.jobs.append((kind, change.text, _now()))
            del self._pending.jobs[:-MAX_WAITING]
            self._wake.set()

        return changed

    def _pod_changed(self, change: observation.Change) -> None:
        key = (change.metadata.namespace, change.metadata.name)
        if not change.text:
            if key in self._pods and self._pods[key].uid == change.metadata.uid:
                del self._pods[key]
            if self._copier is not None:
                self._copier.pod_deleted(change.metadata.uid)
            self._deleted(change.metadata)
            return
        if self._copier is not None:
            self._copier.pod_changed(change.text)
        self._existing.add(change.metadata.uid)
        if key not in self._pods or self._pods[key].uid != change.metadata.uid:
            self._pods[key] = SampledPod(change.metadata.uid, _now())
        self._pending.pods[change.metadata.uid] = change.text
        self._wake.set()

    def _event_changed(self, change: observation.Change) -> None:
        if change.text:  # an event that has expired stays in the history
            self._pending.events[change.metadata.uid] = change.text
            self._wake.set()

    def _deleted(self, metadata: meta.Meta) -> None:
        self._existing.discard(metadata.uid)
        self._pending.deleted[metadata.uid] = _now()
        self._wake.set()

    async def _mark_deleted(self, informers: Sequence[informer.Informer[Any]]) -> None:
        """Jobs and pods that were deleted while no recorder was running."""
        for each in informers:
            await each.synced.wait()
        while not await self._guarded(self._mark_unobserved):  # noqa: ASYNC110 - the store may be repaired at any time
            await asyncio.sleep(RETRY_SECONDS)

    async def _mark_unobserved(self) -> None:
        """Of the namespaces that this recorder observes: another one may record others."""
        for uid in await self._thread.call(lambda store: store.existing(self._options.namespaces)) - self._existing:
            self._pending.deleted.setdefault(uid, _now())
        self._wake.set()

    async def _write_always(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(WRITE_SECONDS)
            if not await self._guarded(self.write):
                self._wake.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def write(self) -> None:
        """Write what was observed. Raise StoreError."""
        taken, self._pending = self._pending, PendingRecords()
        try:
            unknown = await self._thread.call(lambda store: pending_records.write(store, taken, _now()))
        except errors.StoreError:
            self._pending = taken.followed_by(self._pending)
            raise
        for uid, text in unknown.items():
            if uid in self._existing:  # its job is observed later
                self._pending.pods.setdefault(uid, text)

    async def _sample(self) -> None:
        if not self._pods:
            return
        now = _now()
        try:
            for namespace in self._namespaces:
                async for page in self._reader.pages(POD_METRICS, namespace, labels=naming.JOB_NAME):
                    for raw in page.items:
                        self._take_sample(raw, now)
        except errors.ApiError:
            return  # the cluster has no metrics server, or it does not respond: the history has no usage of this time
        self._wake.set()

    def _take_sample(self, raw: bytes, now: int) -> None:
        found = observation.identity(raw)
        pod = self._pods.get((found.namespace, found.name))
        if pod is not None and pod.is_due(now):
            pod.sampled = now
            self._pending.samples.append(documents.sample(raw, pod.uid, now))

    async def _retain(self) -> None:
        oldest = _now() - int(self._options.max_age_seconds * 1000)
        with contextlib.suppress(errors.StoreError):  # the next write reports it
            old = await self._thread.call(lambda store: store.remove_older(oldest))
            large = await self._thread.call(lambda store: store.shrink(self._options.max_bytes))
            if old or large:
                log.info("jobs were removed from the history", extra={"too_old": old, "for_space": large})

    async def _guarded(self, action: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Whether the action succeeded. A lasting error is logged once."""
        try:
            await action()
        except errors.StoreError as error:
            if not self._is_broken:
                log.error("the history cannot be written", extra={"error": str(error)})
            self._is_broken, self.problem = True, str(error)
            return False
        if self._is_broken:
            log.info("the history can be written again")
        self._is_broken, self.problem = False, ""
        return True


def _now() -> int:
    return int(clock.now().timestamp() * 1000)


async def _every(seconds: float, action: Callable[[], Coroutine[Any, Any, None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await action()


@contextlib.asynccontextmanager
async def recording(reader: interfaces.Reader, location: str, options: settings.History) -> AsyncIterator[None]:
    """Records while the context lasts."""
    thread = DatabaseThread(location, writable=True)
    try:
        async with Recorder(reader, thread, options).running():
            yield
    finally:
        await thread.close()
