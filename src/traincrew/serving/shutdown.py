"""Shuts down an HTTPS server of aiohttp.

aiohttp only starts to close its connections. A TLS connection is closed when the client has responded to `close_notify`. Until
then it would outlive its server, and even the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from typing import NamedTuple

from aiohttp import web

_CLOSE_SECONDS = 1.0
"""Seconds for clients to respond before their connections are broken."""
_POLL_SECONDS = 0.01


class _Connection(NamedTuple):
    transport: asyncio.Transport
    descriptor: int
    inode: int

    def is_closed(self) -> bool:
        """The socket object of uvloop does not know it. The descriptor may belong to another file meanwhile."""
        try:
            return os.fstat(self.descriptor).st_ino != self.inode
        except OSError:
            return True


async def shut_down(runner: web.BaseRunner) -> None:
    """Returns when all connections of the server are closed."""
    handlers = runner.server.connections if runner.server is not None else []
    connections = [found for handler in handlers if (found := _connection(handler.transport)) is not None]
    await runner.cleanup()
    if not await _closed(connections):
        for each in connections:
            if not each.is_closed():
                each.transport.abort()
        await _closed(connections)


def _connection(transport: asyncio.Transport | None) -> _Connection | None:
    try:
        found = transport.get_extra_info("socket") if transport is not None else None
    except AttributeError:  # asyncio has no socket for a TLS transport whose close() was called twice
        return None
    if transport is None or found is None or found.fileno() == -1:
        return None
    return _Connection(transport, found.fileno(), os.fstat(found.fileno()).st_ino)


async def _closed(connections: Sequence[_Connection]) -> bool:
    """Waits for a limited time, and returns whether all connections are closed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            while not all(each.is_closed() for each in connections):  # noqa: ASYNC110
                await asyncio.sleep(_POLL_SECONDS)  # there is no event for it: aiohttp has forgotten the connections
            return True
    return False
