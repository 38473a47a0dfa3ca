"""Limits the request heads (request line and headers) that a server holds, and hands what it receives to aiohttp in small pieces.

aiohttp limits each header and not their sum. It puts all the data that it was given into the error about a malformed line, and
Python frees that error only when it collects cycles. Both limits hold before the client has authenticated.
"""

from __future__ import annotations

import asyncio
from typing import cast

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader

PIECE_BYTES = 16 << 10
"""Bytes that are received in one turn of the event loop: as many as a TLS record has."""
MAX_HEAD_BYTES = (1 << 20) + (4 << 10)
"""Of one request, as in Go's servers."""
MAX_HEADS_BYTES = 16 << 20
"""Of all unfinished heads of a server. For more, the connection with the longest one is closed."""
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class RequestHeads:
    """The unfinished request heads of a server."""

    def __init__(self, server: web.Server) -> None:
        self._make_request = server.request_factory
        server.request_factory = self._finished
        self._unfinished: dict[HeadLimitedProtocol, int] = {}
        self._bytes = 0
        self.buffer = memoryview(bytearray(PIECE_BYTES))
        """Shared by all connections: received data leaves it before another connection is read."""

    def add(self, connection: HeadLimitedProtocol, count: int) -> None:
        self._unfinished[connection] = self._unfinished.get(connection, 0) + count
        self._bytes += count
        if self._unfinished[connection] > MAX_HEAD_BYTES:
            connection.reject()
        while self._bytes > MAX_HEADS_BYTES:
            longest = max(self._unfinished, key=self._unfinished.__getitem__)
            self.remove(longest)
            longest.abort()

    def remove(self, connection: HeadLimitedProtocol) -> None:
        self._bytes -= self._unfinished.pop(connection, 0)

    def _finished(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        handler: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        """aiohttp calls it for each request whose head it has parsed."""
        connection = of_handler(handler)
        if connection is not None:
            self.remove(connection)
            connection.body = payload
        return self._make_request(message, payload, handler, writer, task)


class HeadLimitedProtocol(asyncio.BufferedProtocol):
    """Stands between a connection and aiohttp's protocol. An event loop reads no more at once than the buffer holds."""

    def __init__(self, handler: web.RequestHandler, heads: RequestHeads) -> None:
        self._handler, self._heads = handler, heads
        self._transport: asyncio.Transport | None = None
        self._is_upgraded = False
        self.body: StreamReader | None = None
        """Of the last request whose head is complete."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._handler.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._heads.buffer

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self._heads.buffer[:nbytes])
        if not self._is_upgraded and (self.body is None or self.body.is_eof()):
            self._heads.add(self, nbytes)
        self._handler.data_received(data)

    def eof_received(self) -> None:
        self._handler.eof_received()

    def pause_writing(self) -> None:
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._handler.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heads.remove(self)
        self._handler.connection_lost(exc)

    def upgraded(self) -> None:
        """The client sends no more requests."""
        self._heads.remove(self)
        self._is_upgraded = True

    def reject(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(_TOO_LARGE)
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def of_handler(handler: web.RequestHandler) -> HeadLimitedProtocol | None:
    """None if the connection is closed, or not limited."""
    protocol = handler.transport.get_protocol() if handler.transport is not None else None
    return protocol if isinstance(protocol, HeadLimitedProtocol) else None
