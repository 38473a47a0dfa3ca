"""Merges several logs by time without reading any of them completely."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from traincrew.client import pod_logs


async def merge(
    sources: Sequence[AsyncGenerator[list[pod_logs.PodLogLine], None]],
) -> AsyncIterator[tuple[int, list[pod_logs.PodLogLine]]]:
    """Lines with the index of their source. A line without a time stays behind the line before it."""
    waiting = [deque[pod_logs.PodLogLine]() for _ in sources]
    last = [0] * len(sources)
    try:
        await asyncio.gather(*(_fill(source, lines) for source, lines in zip(sources, waiting, strict=True)))
        heap = [(_time(lines[0], 0), index) for index, lines in enumerate(waiting) if lines]
        heapq.heapify(heap)
        while heap:
            _, index = heap[0]
            limit = min((each for each in heap[1:3]), default=None)
            taken = _take(waiting[index], index, limit, last)
            yield index, taken
            if not waiting[index]:
                await _fill(sources[index], waiting[index])
            if waiting[index]:
                heapq.heapreplace(heap, (_time(waiting[index][0], last[index]), index))
            else:
                heapq.heappop(heap)
    finally:
        for source in sources:
            await source.aclose()


async def _fill(source: AsyncGenerator[list[pod_logs.PodLogLine], None], lines: deque[pod_logs.PodLogLine]) -> None:
    """Read until there is a line or the source ends."""
    async for batch in source:
        lines.extend(batch)
        if lines:
            return


def _time(line: pod_logs.PodLogLine, before: int) -> int:
    return max(line.nanoseconds, before)


def _take(
    lines: deque[pod_logs.PodLogLine], index: int, limit: tuple[int, int] | None, last: list[int]
) -> list[pod_logs.PodLogLine]:
    """Take the lines that come before the first line of any other source, at least one."""
    taken = [lines.popleft()]
    last[index] = _time(taken[0], last[index])
    while lines and (limit is None or (_time(lines[0], last[index]), index) <= limit):
        taken.append(lines.popleft())
        last[index] = _time(taken[-1], last[index])
    return taken
