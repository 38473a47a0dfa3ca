"""Accepts the connections of an HTTP server, and limits those whose client has not authenticated yet.

Any client can connect to the port without credentials, and each connection takes a descriptor and the memory of a TLS session.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import ssl

from aiohttp import web

from traincrew.serving import listening_sockets
from traincrew.serving.request_heads import HeadLimitedProtocol, RequestHeads

log = logging.getLogger(__name__)

MAX_UNAUTHENTICATED = 1024
"""Connections. For one more, the oldest is closed. A client that is not hostile authenticates within milliseconds."""
HANDSHAKE_SECONDS = 10.0
ACCEPT_RETRY_SECONDS = 0.1
_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class LimitedListener:
    def __init__(self, server: web.Server, context: ssl.SSLContext | None, limit: int = 0) -> None:
        """limit: of connections whose client has not authenticated; 0: the default."""
        self._server, self._context, self._limit = server, context, limit or _default_limit()
        self._heads = RequestHeads(server)
        self._unauthenticated: dict[object, asyncio.Task[None]] = {}
        """By protocol, oldest first; with the task that does the handshake."""
        self._accepting: list[asyncio.Task[None]] = []

    async def listen(self, host: str, port: int) -> int:
        """host: empty for every address of this machine. Returns the port. Raises OSError."""
        sockets = await listening_sockets.listen(host, port)
        for each in sockets:
            self.accept(each)
        return int(sockets[0].getsockname()[1])

    def accept(self, listening: socket.socket) -> None:
        """At a socket that listens already. It is closed at the end."""
        listening.setblocking(False)
        self._accepting.append(asyncio.create_task(self._accept(listening)))

    def authenticated(self, request: web.BaseRequest) -> None:
        """The client of this connection has credentials: it is no longer limited."""
        self._unauthenticated.pop(request.protocol, None)

    async def close(self) -> None:
        """Accepts no more connections. Those that are established stay open."""
        tasks = [*self._accepting, *(task for task in self._unauthenticated.values() if not task.done())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._unauthenticated.clear()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listening:
            while True:
                try:
                    accepted, _ = await loop.sock_accept(listening)
                except OSError as error:
                    if error.errno in _OUT_OF_DESCRIPTORS:
                        log.warning("cannot accept a connection", extra={"error": error.strerror})
                        await asyncio.sleep(ACCEPT_RETRY_SECONDS)
                    continue  # else the client has gone already
                self._add(accepted)
                # sock_accept does not wait if there is a connection already; those that are closed need the event loop.
                await asyncio.sleep(0)

    def _add(self, accepted: socket.socket) -> None:
        if len(self._unauthenticated) >= self._limit:
            self._forget_closed()
        while len(self._unauthenticated) >= self._limit:
            protocol, task = next(iter(self._unauthenticated.items()))
            del self._unauthenticated[protocol]
            _abort(protocol, task)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        handler = self._server()
        self._unauthenticated[handler] = asyncio.create_task(self._handshake(handler, accepted))

    def _forget_closed(self) -> None:
        closed = [each for each, task in self._unauthenticated.items() if task.done() and _transport(each) is None]
        for protocol in closed:
            del self._unauthenticated[protocol]

    async def _handshake(self, handler: web.RequestHandler, accepted: socket.socket) -> None:
        timeout = HANDSHAKE_SECONDS if self._context is not None else None
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await asyncio.get_running_loop().connect_accepted_socket(
                    lambda: HeadLimitedProtocol(handler, self._heads), accepted, ssl=self._context, ssl_handshake_timeout=timeout
                )
                return
        except asyncio.CancelledError:
            accepted.close()
            raise
        accepted.close()
        self._unauthenticated.pop(handler, None)


def _default_limit() -> int:
    """A quarter of the descriptors of this process, at most: the rest is for the store, the pods and clients with credentials."""
    available, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(8, min(MAX_UNAUTHENTICATED, available // 4))


def _transport(protocol: object) -> asyncio.Transport | None:
    return getattr(protocol, "transport", None)


def _abort(protocol: object, task: asyncio.Task[None]) -> None:
    task.cancel()
    if (transport := _transport(protocol)) is not None:
        transport.abort()
