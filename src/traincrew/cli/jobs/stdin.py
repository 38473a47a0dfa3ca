"""Reads standard input without blocking the event loop. The terminal stays in blocking mode, which it shares with the shell."""

from __future__ import annotations

import asyncio
import contextlib
import os

CHUNK_SIZE = 1 << 15


async def read(descriptor: int = 0) -> bytes:
    """Wait for input and return it; empty at the end of the input."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[bytes] = loop.create_future()

    def ready() -> None:
        # Read in the callback: later the input may be consumed by another reader, and the read would block.
        loop.remove_reader(descriptor)
        if not found.done():
            try:
                found.set_result(os.read(descriptor, CHUNK_SIZE))
            except OSError as error:
                found.set_exception(error)

    try:
        loop.add_reader(descriptor, ready)
    except PermissionError:  # a regular file, which is always readable
        return os.read(descriptor, CHUNK_SIZE)
    try:
        return await found
    finally:
        with contextlib.suppress(OSError, ValueError):
            loop.remove_reader(descriptor)
