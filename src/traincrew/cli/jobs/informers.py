"""A job and its pods, kept true by watches; every pod that was ever seen is remembered."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator

import msgspec

from traincrew.cli.render import view
from traincrew.client import informer, port, store
from traincrew.kinds.kind import JobKind
from traincrew.model import meta, objects, resources


@dataclasses.dataclass(frozen=True)
class Raw:
    metadata: meta.Meta
    text: bytes


class _Named(msgspec.Struct):
    metadata: meta.Meta


_named = msgspec.json.Decoder(_Named)


def _raw(text: bytes) -> Raw:
    return Raw(_named.decode(text).metadata, text)


@dataclasses.dataclass(frozen=True)
class Key:
    kind: JobKind
    namespace: str
    name: str
    uid: str = ""
    """The very job; empty: whichever has the name."""


class Copy:
    """Of one job. `changes` counts what has been heard; `changed` waits for more."""

    def __init__(self, reader: port.Reader, key: Key) -> None:
        self.key = key
        self.job: bytes | None = None
        self.gone = False
        """It was there, and is no more."""
        self.pods: dict[str, objects.Pod] = {}
        """By uid, as last seen; those that are gone included."""
        self.there: set[str] = set()
        """Uids of the pods that are there."""
        self.changes = 0
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        fields = f"metadata.name={key.name}"
        self._jobs = informer.Informer(
            reader,
            informer.Scope(key.kind.resource, key.namespace, fields=fields),
            store.Store(_raw, self._job_changed),
        )
        labels = view.selector(key.name)
        self._pods = informer.Informer(
            reader, informer.Scope(resources.PODS, key.namespace, labels), store.Store(view.pod, self._pod_changed)
        )

    def _job_changed(self, old: Raw | None, new: Raw | None) -> None:
        if new is not None and self.key.uid in ("", new.metadata.uid):
            self.job = new.text
        elif new is None and old is not None and self.key.uid in ("", old.metadata.uid):
            self.gone = True
        self._tell()

    def _pod_changed(self, old: objects.Pod | None, new: objects.Pod | None) -> None:
        known = new or old
        if known is None or not view.belongs(known, self.key.kind, self.key.name):
            return
        uid = known.metadata.uid
        self.pods[uid] = known
        if new is not None:
            self.there.add(uid)
        else:
            self.there.discard(uid)
        self._tell()

    def _tell(self) -> None:
        self.changes += 1
        task = asyncio.get_running_loop().create_task(self._notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def changed(self, since: int) -> None:
        """Returns when more has been heard than that."""
        async with self._news:
            await self._news.wait_for(lambda: self.changes > since)

    def view(self) -> view.View | None:
        if self.job is None:
            return None
        return view.view(self.key.kind, self.job, [self.pods[uid] for uid in self.there])

    def trouble(self) -> str:
        """Why nothing is heard at the moment; empty if the watches stand."""
        for each in (self._jobs, self._pods):
            if each.failure is not None:
                return each.failure.message
        return ""

    @contextlib.asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """True while it is entered, from its first look on."""
        tasks = [asyncio.create_task(each.run()) for each in (self._jobs, self._pods)]
        try:
            for each in (self._jobs, self._pods):
                await each.synced.wait()
            if self.job is None and self.key.uid:
                self.gone = True  # deleted before the first look
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
