"""Standard input, read as it comes and only when there is something to read: the terminal stays in its blocking mode, which it
shares with the shell.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

PIECE = 1 << 15


async def read(descriptor: int = 0) -> bytes:
    """What there is, once there is something; nothing at the end of the input."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[bytes] = loop.create_future()

    def ready() -> None:
        # Read here and nowhere else: a moment later somebody may be told of what is no longer there, and wait for ever.
        loop.remove_reader(descriptor)
        if not found.done():
            try:
                found.set_result(os.read(descriptor, PIECE))
            except OSError as error:
                found.set_exception(error)

    try:
        loop.add_reader(descriptor, ready)
    except PermissionError:  # a regular file, which cannot be waited for and need not be
        return os.read(descriptor, PIECE)
    try:
        return await found
    finally:
        with contextlib.suppress(OSError, ValueError):
            loop.remove_reader(descriptor)
