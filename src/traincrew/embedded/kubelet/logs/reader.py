"""What was asked for of a container's log, read from its files; followed, if that is wanted, until the container has ended."""

from __future__ import annotations

import asyncio
import datetime as dt
import pathlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import NamedTuple

from traincrew.embedded.kubelet.logs import cri_format
from traincrew.embedded.kubelet.logs.cursor import LogCursor
from traincrew.embedded.kubelet.runtime.streaming import LogOptions

SHORTEST, LONGEST = 0.02, 0.25
"""Seconds between looks at a log that is followed: the longer nothing comes, the seldomer."""


class LogWriter(NamedTuple):
    """The container whose log is followed."""

    ended: Callable[[], bool] = lambda: True
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep
    """For so many seconds, or until there is news of the container."""


FINISHED = LogWriter()


async def read(
    directory: pathlib.Path, attempt: int, options: LogOptions, now: dt.datetime, writer: LogWriter = FINISHED
) -> AsyncGenerator[bytes, None]:
    """The log of one run, in pieces; the first comes at once, if need be empty. `directory` is the container's own.

    A follower gets what comes until the writer has ended, and everything up to then.
    """
    since = options.since(now)
    shown = cri_format.LogFormatter(
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
            yield shown.feed(lines)
        if options.follow:
            async for lines in _coming(cursor, writer):
                yield shown.feed(lines)
    finally:
        cursor.close()


async def _coming(cursor: LogCursor, writer: LogWriter) -> AsyncIterator[list[bytes]]:
    pause = SHORTEST
    while True:
        # Asked before the look: what was written before the end is seen by the look after it.
        over = writer.ended()
        if lines := cursor.lines():
            yield lines
            pause = SHORTEST
            continue
        if over:
            return
        await writer.pause(pause)
        pause = min(pause * 1.5, LONGEST)
