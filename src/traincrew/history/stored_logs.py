"""Logs of the store, for clusters whose nodes keep none of deleted pods."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.client import clock, pod_logs
from traincrew.history import last_lines
from traincrew.history.records import LogChunk, PodRecord
from traincrew.history.store import StoreAccess


class RunLines(NamedTuple):
    """Lines of one run of a container."""

    run: int
    lines: list[pod_logs.PodLogLine]


class StoreLogs:
    def __init__(self, thread: StoreAccess) -> None:
        self._thread = thread

    def lines(self, pod: PodRecord, container: str, wanted: pod_logs.PodLogOptions) -> AsyncIterator[list[pod_logs.PodLogLine]]:
        return last_lines.of_log(self._lines(pod, container, wanted), wanted.tail)

    async def _lines(
        self, pod: PodRecord, container: str, wanted: pod_logs.PodLogOptions
    ) -> AsyncIterator[list[pod_logs.PodLogLine]]:
        since = _since(wanted)
        run = await self._previous(pod, container) if wanted.previous else None
        async for chunk in self._chunks(pod, container):
            if run is None or chunk.run == run:
                parsed = (pod_logs.parse(raw) for raw in chunk.lines.removesuffix(b"\n").split(b"\n"))
                yield [line for line in parsed if line.nanoseconds >= since]

    async def runs(self, pod: PodRecord, container: str) -> AsyncIterator[RunLines]:
        """All lines, the oldest first."""
        async for chunk in self._chunks(pod, container):
            yield RunLines(chunk.run, [pod_logs.parse(raw) for raw in chunk.lines.removesuffix(b"\n").split(b"\n")])

    async def _chunks(self, pod: PodRecord, container: str) -> AsyncIterator[LogChunk]:
        after = (-1, -1)
        while (chunk := await self._next(pod, container, after)) is not None:
            yield chunk
            after = (chunk.run, chunk.number)

    async def _next(self, pod: PodRecord, container: str, after: tuple[int, int]) -> LogChunk | None:
        return await self._thread.call(lambda store: store.log(pod.uid, container, after))

    async def _previous(self, pod: PodRecord, container: str) -> int:
        """The number of the run before the last one; -1: there is none."""
        last = await self._thread.call(lambda store: store.last_log(pod.uid, container))
        return last.run - 1 if last is not None else -1


def _since(wanted: pod_logs.PodLogOptions) -> int:
    """Nanoseconds since 1970."""
    if wanted.since:
        return int(times.parse(wanted.since).timestamp()) * pod_logs.NANO
    if wanted.since_seconds is not None:
        return int((clock.now() - dt.timedelta(seconds=wanted.since_seconds)).timestamp()) * pod_logs.NANO
    return 0
