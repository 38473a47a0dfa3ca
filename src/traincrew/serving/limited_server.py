"""Serves an application of aiohttp at a port whose connections are limited until their clients have authenticated."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator

from aiohttp import web

from traincrew.serving import http_connections, shutdown
from traincrew.serving.limited_listener import LimitedListener

_LISTENERS = web.AppKey("listeners", list[LimitedListener])


@contextlib.asynccontextmanager
async def serve(
    app: web.Application,
    host: str,
    port: int,
    context: ssl.SSLContext | None = None,
    *,
    listening: socket.socket | None = None,
    limit: int = 0,
    logger: logging.Logger | None = None,
    shutdown_timeout: float = 0.5,
    handler_cancellation: bool = False,
) -> AsyncIterator[int]:
    """Serve while the context is open, and yield the port. All connections are closed at the end. Raise OSError.

    host: empty for every address of this machine, of IPv4 and IPv6.
    listening: a socket that listens already, in place of host and port.
    limit: of connections; 0: the listener's. logger: for an application that does not report the errors of its handlers itself.
    handler_cancellation: the handler of a client that disconnects is cancelled.
    """
    app[_LISTENERS] = []
    runner = web.AppRunner(
        app,
        handler_cancellation=handler_cancellation,
        shutdown_timeout=shutdown_timeout,
        access_log=None,
        logger=logger or http_connections.connection_logger(),
    )
    await runner.setup()
    assert runner.server is not None
    listener = LimitedListener(runner.server, context, limit)
    try:
        if listening is not None:
            listener.accept(listening)
            port = int(listening.getsockname()[1])
        else:
            port = await listener.listen(host, port)
        app[_LISTENERS].append(listener)
        yield port
    finally:
        await listener.close()
        await shutdown.shut_down(runner)


def authenticated(request: web.Request) -> None:
    """The client of this connection has credentials: it is no longer limited."""
    for listener in request.app.get(_LISTENERS, ()):
        listener.authenticated(request)
