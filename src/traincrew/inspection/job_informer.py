"""An informer for one job and its pods. It remembers every pod it has seen."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator

import msgspec

from traincrew.client import informer, interfaces, store
from traincrew.inspection import observed_job
from traincrew.kinds.kind import JobKind
from traincrew.model import meta, objects, resources
from traincrew.serving import background_tasks


@dataclasses.dataclass(frozen=True)
class RawObject:
    metadata: meta.Meta
    text: bytes


class _Metadata(msgspec.Struct):
    metadata: meta.Meta


_metadata_decoder = msgspec.json.Decoder(_Metadata)


def decode_object(text: bytes) -> RawObject:
    return RawObject(_metadata_decoder.decode(text).metadata, text)


@dataclasses.dataclass(frozen=True)
class JobKey:
    kind: JobKind
    namespace: str
    name: str
    uid: str = ""
    """Empty: any job of the name."""

    @property
    def reference(self) -> str:
        return f"{self.kind.singular}/{self.name}"


class JobInformer:
    """`changes` counts the observed changes; `changed` waits for the next one."""

    def __init__(self, reader: interfaces.Reader, key: JobKey) -> None:
        self.key = key
        self.job: bytes | None = None
        self.deleted = False
        self.pods: dict[str, objects.Pod] = {}
        """All pods by UID as last seen, including deleted ones."""
        self.existing: set[str] = set()
        """UIDs of the pods that are not deleted."""
        self.changes = 0
        self._condition = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        fields = f"metadata.name={key.name}"
        self._jobs = informer.Informer(
            reader,
            informer.Scope(key.kind.resource, key.namespace, fields=fields),
            store.InformerStore(decode_object, self._job_changed),
        )
        labels = observed_job.selector(key.name)
        self._pods = informer.Informer(
            reader,
            informer.Scope(resources.PODS, key.namespace, labels),
            store.InformerStore(observed_job.decode_pod, self._pod_changed),
        )

    def _job_changed(self, old: RawObject | None, new: RawObject | None) -> None:
        if new is not None and self.key.uid in ("", new.metadata.uid):
            self.job = new.text
        elif new is None and old is not None and self.key.uid in ("", old.metadata.uid):
            self.deleted = True
        self._count_change()

    def _pod_changed(self, old: objects.Pod | None, new: objects.Pod | None) -> None:
        pod = new or old
        if pod is None or not observed_job.belongs(pod, self.key.kind, self.key.name):
            return
        uid = pod.metadata.uid
        self.pods[uid] = pod
        if new is not None:
            self.existing.add(uid)
        else:
            self.existing.discard(uid)
        self._count_change()

    def _count_change(self) -> None:
        self.changes += 1
        task = asyncio.get_running_loop().create_task(self._notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self._condition:
            self._condition.notify_all()

    async def changed(self, since: int) -> None:
        """Return when the number of changes exceeds `since`."""
        async with self._condition:
            await self._condition.wait_for(lambda: self.changes > since)

    def observe(self) -> observed_job.ObservedJob | None:
        if self.job is None:
            return None
        return observed_job.observe(self.key.kind, self.job, [self.pods[uid] for uid in self.existing])

    def no_log_will_start(self, followed_changes: int) -> bool:
        """Whether the logs that are followed after that number of changes are all that the job will have."""
        observed = self.observe()
        is_complete = self.deleted or (observed is not None and observed.complete)
        return is_complete and followed_changes == self.changes

    def error(self) -> str:
        """The error of the watches; empty if they work."""
        for each in (self._jobs, self._pods):
            if each.failure is not None:
                return each.failure.message
        return ""

    @contextlib.asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """Run the informers. The caches are synced when the context is entered."""
        tasks = [asyncio.create_task(each.run()) for each in (self._jobs, self._pods)]
        try:
            for each in (self._jobs, self._pods):
                await each.synced.wait()
            if self.job is None and self.key.uid:
                self.deleted = True  # before the first list
            yield
        finally:
            await background_tasks.cancel(*tasks)
