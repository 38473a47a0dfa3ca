"""What was asked for of a container's log, read from its files; followed, if that is wanted, until the container has ended."""

from __future__ import annotations

import asyncio
import datetime as dt
import pathlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from traincrew.embedded.node.logs import cri
from traincrew.embedded.node.logs.cursor import Cursor
from traincrew.embedded.streams.containers import LogOptions

SHORTEST, LONGEST = 0.02, 0.25
"""Seconds between looks at a log that is followed: the longer nothing comes, the seldomer."""


async def read(
    directory: pathlib.Path,
    attempt: int,
    options: LogOptions,
    now: dt.datetime,
    ended: Callable[[], bool] = lambda: True,
) -> AsyncGenerator[bytes, None]:
    """The log of one run, in pieces; the first comes at once, if need be empty. `directory` is the container's own.

    A follower gets what comes until `ended` says that nothing more will, and everything up to then.
    """
    since = options.since(now)
    shown = cri.Shown(timestamps=options.timestamps, stream=options.stream, since=cri.stamp_of(since) if since else cri.EARLIEST)
    cursor = Cursor(directory, attempt)
    try:
        if options.tail_lines is not None:
            await asyncio.to_thread(cursor.to_tail, options.tail_lines)
        yield b""
        while lines := await asyncio.to_thread(cursor.lines):
            yield shown.feed(lines)
        if options.follow:
            async for lines in _coming(cursor, ended):
                yield shown.feed(lines)
    finally:
        cursor.close()


async def _coming(cursor: Cursor, ended: Callable[[], bool]) -> AsyncIterator[list[bytes]]:
    pause = SHORTEST
    while True:
        # Asked before the look: what was written before the end is seen by the look after it.
        over = ended()
        if lines := cursor.lines():
            yield lines
            pause = SHORTEST
            continue
        if over:
            return
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST)
