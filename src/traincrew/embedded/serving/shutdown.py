"""Shuts down an HTTPS server of aiohttp.

aiohttp only starts to close its connections. A TLS connection is closed when the client has responded to `close_notify`. Until
then it would outlive its server, and even the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from asyncio.trsock import TransportSocket
from collections.abc import Sequence

from aiohttp import web

_CLOSE_SECONDS = 1.0
"""Seconds for clients to respond before their connections are broken."""
_POLL_SECONDS = 0.01


async def shut_down(runner: web.BaseRunner) -> None:
    """Returns when all connections of the server are closed."""
    handlers = runner.server.connections if runner.server is not None else []
    sockets = [found for handler in handlers if (found := _socket(handler.transport)) is not None]
    await runner.cleanup()
    if not await _closed(sockets):
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        await _closed(sockets)


def _socket(transport: asyncio.BaseTransport | None) -> TransportSocket | None:
    try:
        return transport.get_extra_info("socket") if transport is not None else None
    except AttributeError:  # asyncio has no socket for a TLS transport whose close() was called twice
        return None


async def _closed(sockets: Sequence[TransportSocket]) -> bool:
    """Waits for a limited time, and returns whether all sockets are closed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            while any(each.fileno() != -1 for each in sockets):  # noqa: ASYNC110
                await asyncio.sleep(_POLL_SECONDS)  # there is no event for it: aiohttp has forgotten the connections
            return True
    return False
