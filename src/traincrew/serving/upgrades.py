"""Hijacks a connection of aiohttp's server, to speak another protocol on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from traincrew.serving import request_heads

_BUFFER = 128 * 1024
"""Reading pauses when twice as much is buffered."""
_FLUSH = 5.0
"""Seconds to flush written data before the connection is aborted."""


class HijackedResponse(web.StreamResponse):
    """Returned by a handler that has hijacked the connection: aiohttp writes nothing and closes it."""

    def __init__(self) -> None:
        super().__init__(status=101)
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


class _Successor(asyncio.StreamReaderProtocol):
    """Replaces aiohttp's protocol, which is notified of the lost connection when the handler has returned."""

    def __init__(self, reader: asyncio.StreamReader, former: asyncio.Protocol) -> None:
        super().__init__(reader)
        self._former = former
        self._through = False
        self._why: Exception | None = None
        self.lost = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._why = exc
        self.lost.set()
        if self._through:
            self._former.connection_lost(exc)

    def through(self) -> None:
        self._through = True
        if self.lost.is_set():
            self._former.connection_lost(self._why)


class _Tail:
    """Replaces aiohttp's parser of upgraded connections, and receives the data that followed the request head."""

    def __init__(self) -> None:
        self.data = b""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.data += data
        return False, b""

    def feed_eof(self) -> None:
        """The protocol handles the end of the stream."""


@contextlib.asynccontextmanager
async def hijack(request: web.BaseRequest, head: bytes) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Writes the response head and yields the raw streams. The connection is closed at the end."""
    transport, former = request.transport, request.protocol
    if transport is None:
        raise ConnectionResetError("the client is gone")
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_BUFFER, loop=loop)
    successor = _Successor(reader, former)
    tail = _Tail()
    former.set_parser(tail)  # type: ignore[arg-type]
    transport.set_protocol(successor)
    successor.connection_made(transport)
    if tail.data:
        reader.feed_data(tail.data)
    writer = asyncio.StreamWriter(transport, successor, reader, loop)
    try:
        writer.write(head)
        yield reader, writer
        writer.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH):
                await successor.lost.wait()
    finally:
        if not successor.lost.is_set():
            transport.abort()
        successor.through()


async def accept_websocket(request: web.Request, socket: web.WebSocketResponse) -> None:
    """Writes the response head. What the client sends from now on are messages, not requests."""
    await socket.prepare(request)
    if (connection := request_heads.of_handler(request.protocol)) is not None:
        connection.upgraded()


def response_head(status: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def is_upgrade(request: web.BaseRequest) -> bool:
    return any("upgrade" in value.lower() for value in request.headers.getall("Connection", ()))


def is_websocket_upgrade(request: web.BaseRequest) -> bool:
    return is_upgrade(request) and request.headers.get("Upgrade", "").lower() == "websocket"
