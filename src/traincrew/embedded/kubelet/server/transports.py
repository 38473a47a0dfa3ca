"""Transports of a SPDY connection: an upgraded HTTP connection, or the binary messages of a WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

import aiohttp
from aiohttp import web

from traincrew.serving.disconnects import wait_for_disconnect

_PIECE = 256 * 1024


class ByteTransport(Protocol):
    async def read(self) -> bytes:
        """b"" is the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Waits while the buffer is full. Raises ConnectionError when the connection is closed. Keeps the order of calls."""
        ...

    async def wait_for_disconnect(self) -> None:
        """Returns when the client has disconnected, even if unread data is left."""
        ...

    async def close(self) -> None:
        """Flushes written data."""
        ...


class StreamTransport:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self) -> bytes:
        try:
            return await self._reader.read(_PIECE)
        except (ConnectionError, OSError):
            return b""

    async def write(self, data: bytes) -> None:
        if self._writer.transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        self._writer.write(data)
        await self._writer.drain()

    async def wait_for_disconnect(self) -> None:
        await wait_for_disconnect(self._writer.transport)

    async def close(self) -> None:
        self._writer.close()


class WebSocketTransport:
    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.BaseTransport | None) -> None:
        self._socket, self._transport = socket, transport

    async def read(self) -> bytes:
        while True:
            message = await self._socket.receive()
            if message.type is not aiohttp.WSMsgType.BINARY:
                return b""
            if message.data:
                return bytes(message.data)

    async def write(self, data: bytes) -> None:
        try:
            await self._socket.send_bytes(data)
        except aiohttp.ClientConnectionResetError as error:
            raise ConnectionResetError(str(error)) from error

    async def wait_for_disconnect(self) -> None:
        await wait_for_disconnect(self._transport)

    async def close(self) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._socket.close()
