"""Recent changes in memory, which watches read. All resources share one budget; the oldest change is dropped first."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from operator import attrgetter

from traincrew.embedded.apiserver.storage.records import RecordChange, StorageLimits

_revision = attrgetter("revision")


class ChangeLog:
    """The changes of one resource after the revision `trimmed`. Changes are numbered from the first one logged."""

    __slots__ = ("_changes", "_first", "_readers", "generation", "trimmed")

    def __init__(self, trimmed: int) -> None:
        self.trimmed = trimmed
        self.generation = 0
        """Watches of an earlier generation end when they have delivered all changes."""
        self._changes: list[RecordChange] = []
        self._first = 0
        self._readers: list[asyncio.Future[None]] = []

    @property
    def end(self) -> int:
        return self._first + len(self._changes)

    def number_after(self, revision: int) -> int:
        return self._first + bisect_right(self._changes, revision, key=_revision)

    def read(self, number: int, most: int) -> Sequence[RecordChange] | None:
        """The changes from that number on; None if they were dropped."""
        start = number - self._first
        return self._changes[start : start + most] if start >= 0 else None

    def since(self, revision: int) -> Sequence[RecordChange]:
        return self._changes[bisect_right(self._changes, revision, key=_revision) :]

    def append(self, change: RecordChange) -> None:
        self._changes.append(change)

    def trim(self, count: int) -> None:
        self.trimmed = self._changes[count - 1].revision
        del self._changes[:count]
        self._first += count

    async def more(self) -> None:
        reader = asyncio.get_running_loop().create_future()
        self._readers.append(reader)
        try:
            await reader
        finally:
            if reader in self._readers:
                self._readers.remove(reader)

    def wake(self) -> None:
        readers, self._readers = self._readers, []
        for reader in readers:
            if not reader.done():
                reader.set_result(None)

    def end_watches(self) -> None:
        """The resource is no longer served, or its selectable fields have changed."""
        self.generation += 1
        self.wake()


class ChangeLogs:
    def __init__(self, revision: int, limits: StorageLimits) -> None:
        self._opened = revision
        self._limits = limits
        self._logs: dict[str, ChangeLog] = {}
        self._ages: deque[tuple[ChangeLog, int]] = deque()
        self._bytes = 0

    def of(self, resource: str) -> ChangeLog:
        log = self._logs.get(resource)
        if log is None:
            log = self._logs[resource] = ChangeLog(self._opened)
        return log

    def append(self, changes: Sequence[RecordChange]) -> None:
        touched = set()
        for change in changes:
            log = self.of(change.record.key.resource)
            log.append(change)
            touched.add(log)
            size = superseded_bytes(change)
            self._bytes += size
            self._ages.append((log, size))
        self._trim()
        for log in touched:
            log.wake()

    def wake_all(self) -> None:
        for log in self._logs.values():
            log.wake()

    def _trim(self) -> None:
        ages, limits = self._ages, self._limits
        counts: dict[ChangeLog, int] = {}
        while ages and (len(ages) > limits.recent_changes or self._bytes > limits.recent_bytes):
            log, size = ages.popleft()
            self._bytes -= size
            counts[log] = counts.get(log, 0) + 1
        for log, count in counts.items():
            log.trim(count)


def superseded_bytes(change: RecordChange) -> int:
    """Bytes of superseded states that this change keeps in memory. (Its own state is counted by its successor.)"""
    size = len(change.before.value) if change.before else 0
    return size + len(change.record.value) if change.type == "DELETED" else size
