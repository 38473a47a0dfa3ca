"""Reads a container's log with the options of a log request; follows it until the container has ended."""

from __future__ import annotations

import asyncio
import datetime as dt
import pathlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import NamedTuple

from traincrew.embedded.kubelet.logs import cri_format
from traincrew.embedded.kubelet.logs.cursor import LogCursor
from traincrew.embedded.kubelet.runtime.streaming import LogOptions

MIN_INTERVAL, MAX_INTERVAL = 0.02, 0.25
"""Polling interval of a followed log. It grows while nothing is written."""


class FollowedContainer(NamedTuple):
    """The container whose log is read."""

    has_exited: Callable[[], bool] = lambda: True
    wait_for_change: Callable[[float], Awaitable[object]] = asyncio.sleep
    """Waits for so many seconds, or until the state of the container changes."""


FINISHED = FollowedContainer()


async def read(
    directory: pathlib.Path, attempt: int, options: LogOptions, now: dt.datetime, container: FollowedContainer = FINISHED
) -> AsyncGenerator[bytes, None]:
    """Yields the log of one attempt in chunks; the first comes at once and may be empty. directory: of the container.

    With `follow`, yields everything until the container has ended.
    """
    since = options.since(now)
    formatter = cri_format.LogFormatter(
        timestamps=options.timestamps,
        stream=options.stream,
        since=cri_format.timestamp(since) if since else cri_format.NO_TIMESTAMP,
    )
    cursor = LogCursor(directory, attempt)
    try:
        if options.tail_lines is not None:
            await asyncio.to_thread(cursor.to_tail, options.tail_lines)
        yield b""
        while lines := await asyncio.to_thread(cursor.lines):
            yield formatter.feed(lines)
        if options.follow:
            async for lines in _follow(cursor, container):
                yield formatter.feed(lines)
    finally:
        cursor.close()


async def _follow(cursor: LogCursor, container: FollowedContainer) -> AsyncIterator[list[bytes]]:
    pause = MIN_INTERVAL
    while True:
        # Checked before the read, so that the last read sees everything that was written before the end.
        over = container.has_exited()
        if lines := cursor.lines():
            yield lines
            pause = MIN_INTERVAL
            continue
        if over:
            return
        await container.wait_for_change(pause)
        pause = min(pause * 1.5, MAX_INTERVAL)
