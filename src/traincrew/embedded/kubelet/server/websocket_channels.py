"""Multiplexes channels over a WebSocket: each message starts with a channel number."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from traincrew.serving import upgrades

BINARY, BASE64 = "channel.k8s.io", "base64.channel.k8s.io"
_MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""Bytes of one message, as in Go's server."""
_CLOSE_TIMEOUT = 5.0


@contextlib.asynccontextmanager
async def accept(request: web.Request, protocol: str) -> AsyncIterator[web.WebSocketResponse]:
    socket = web.WebSocketResponse(
        protocols=(protocol,) if protocol else (), compress=False, max_msg_size=_MAX_MESSAGE_BYTES, timeout=_CLOSE_TIMEOUT
    )
    await upgrades.accept_websocket(request, socket)
    transport = request.transport
    try:
        yield socket
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(2 * _CLOSE_TIMEOUT):
                await socket.close()
    finally:
        if transport is not None and not transport.is_closing():
            transport.abort()


class WebSocketChannels:
    """Binary or base64 messages by channel."""

    def __init__(self, socket: web.WebSocketResponse, protocol: str) -> None:
        self._socket = socket
        self._base64 = BASE64 in protocol

    async def receive(self) -> tuple[int, bytes] | None:
        """The next message; None when the client has disconnected. Malformed messages are skipped."""
        while True:
            message = await self._socket.receive()
            if message.type not in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
                return None
            data = message.data.encode() if isinstance(message.data, str) else bytes(message.data)
            if not data:
                continue
            if not self._base64:
                return data[0], data[1:]
            with contextlib.suppress(binascii.Error):
                return data[0] - ord("0"), base64.b64decode(data[1:])

    async def send(self, channel: int, data: bytes) -> None:
        try:
            if self._base64:
                await self._socket.send_str(chr(ord("0") + channel) + base64.b64encode(data).decode())
            else:
                await self._socket.send_bytes(bytes((channel,)) + data)
        except (aiohttp.ClientConnectionResetError, RuntimeError) as error:
            raise ConnectionResetError(str(error)) from error
