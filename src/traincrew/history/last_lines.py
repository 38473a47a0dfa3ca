"""The last lines of logs, in bounded memory: a program may print lines of any length (pure)."""

from __future__ import annotations

import collections
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from traincrew.client.pod_logs import PodLogLine

T = TypeVar("T")
MAX_SIZE = 32 * 1024 * 1024
"""Bytes of the lines that are kept, of all logs together."""
OVERHEAD = 300
"""Bytes of a line beside its text, about."""


class LastLines(Generic[T]):
    def __init__(self, limit: int | None, size: int = MAX_SIZE) -> None:
        """limit: lines of each log; None: any number. size: bytes of all logs."""
        self._limit, self._max_size = limit, size
        self._logs: dict[str, collections.deque[tuple[T, int]]] = {}
        self._sizes: collections.Counter[str] = collections.Counter()
        self._size = 0
        self.dropped = 0
        """Lines that were dropped because of their size, though the log has no more than its limit."""

    def add(self, log: str, line: T, size: int) -> None:
        """size: bytes of its text."""
        lines = self._logs.setdefault(log, collections.deque())
        lines.append((line, size + OVERHEAD))
        self._sizes[log] += size + OVERHEAD
        self._size += size + OVERHEAD
        if self._limit is not None and len(lines) > self._limit:
            self._remove_first(log)
        if self._size > self._max_size:
            self._shrink()

    def _remove_first(self, log: str) -> None:
        _, size = self._logs[log].popleft()
        self._sizes[log] -= size
        self._size -= size

    def _shrink(self) -> None:
        """To half of the space, so that it is rare. Each log has the same share: a silent one keeps its lines."""
        share = self._max_size // 2 // len(self._logs)
        for log in self._logs:
            while self._sizes[log] > share:
                self._remove_first(log)
                self.dropped += 1

    def take(self) -> list[T]:
        """One log after the other."""
        found = [line for lines in self._logs.values() for line, _ in lines]
        self._logs.clear()
        self._sizes.clear()
        self._size = 0
        return found


async def of_log(batches: AsyncIterator[list[PodLogLine]], limit: int | None) -> AsyncIterator[list[PodLogLine]]:
    """The last lines of one log; None: all."""
    last = LastLines[PodLogLine](limit)
    async for batch in batches:
        if limit is None:
            yield batch
        else:
            for line in batch:
                last.add("", line, len(line.text))
    yield last.take()
