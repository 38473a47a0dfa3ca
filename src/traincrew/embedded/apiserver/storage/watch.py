"""A watch: the changes of one resource in order, older ones from the file, new ones from memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from traincrew.embedded.apiserver.storage.errors import RevisionCompacted, WatchTooSlow
from traincrew.embedded.apiserver.storage.records import RecordChange

if TYPE_CHECKING:
    from traincrew.embedded.apiserver.storage.store import Store

BATCH_SIZE = 256
"""Changes read from the change log at a time."""


class StorageWatch:
    """An asynchronous iterator for one reader. It ends when the watch or the store is closed, or the resource is not served.

    Raises WatchTooSlow if it is read too slowly, RevisionCompacted if compaction overtakes it while it reads the file.
    """

    def __init__(self, store: Store, resource: str, namespace: str, after: int) -> None:
        self._store, self._resource, self._namespace = store, resource, namespace
        self._log = store.change_logs.of(resource)
        self._generation = self._log.generation
        self._ready: deque[RecordChange] = deque()
        self._complete = after
        self._number: int | None = None
        self._closed = False
        self._attach()

    @property
    def position(self) -> int:
        """The revision up to which all changes were delivered: the value of a bookmark."""
        if self._ready:
            return self._ready[0].revision - 1
        if self._number is None:
            return self._complete
        waiting = self._log.read(self._number, 1)
        if waiting is None:
            return self._complete
        return waiting[0].revision - 1 if waiting else self._store.revision

    def __aiter__(self) -> StorageWatch:
        return self

    async def __anext__(self) -> RecordChange:
        if not self._ready and not await self._fill():
            raise StopAsyncIteration
        return self._ready.popleft()

    async def batch(self) -> Sequence[RecordChange]:
        """At least one change and all others that are ready; empty at the end."""
        if not self._ready and not await self._fill():
            return ()
        changes, self._ready = self._ready, deque()
        return tuple(changes)

    def close(self) -> None:
        self._closed = True
        self._log.wake()

    async def _fill(self) -> bool:
        """False at the end of the watch."""
        while not (self._closed or self._store.closed):
            if self._number is None:
                await self._catch_up()
            elif self._number == self._log.end:
                if self._generation != self._log.generation:
                    return False
                await self._log.more()
            else:
                self._follow(self._number)
            if self._ready:
                return True
        return False

    async def _catch_up(self) -> None:
        store, after = self._store, self._complete
        changes, complete = await store.history.batch(self._resource, self._namespace, after, self._log.trimmed)
        # Checked afterwards: compaction is announced before anything is removed.
        if after < store.compacted:
            raise RevisionCompacted(after, store.compacted)
        self._ready.extend(changes)
        self._complete = complete
        self._attach()

    def _attach(self) -> None:
        if self._complete >= self._log.trimmed:
            self._number = self._log.number_after(self._complete)

    def _follow(self, number: int) -> None:
        changes = self._log.read(number, BATCH_SIZE)
        if changes is None:
            raise WatchTooSlow(f"a watch of {self._resource} was read too slowly")
        self._number = number + len(changes)
        self._complete = changes[-1].revision
        namespace = self._namespace
        if namespace:
            changes = [change for change in changes if change.record.key.namespace == namespace]
        self._ready.extend(changes)
