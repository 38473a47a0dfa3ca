"""Exec and attach over a WebSocket: channels 0 to 4, and in v5 the closing of one by a message."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

from aiohttp import web

from traincrew.embedded.streams import negotiation, sessions, statuses, websockets
from traincrew.embedded.streams.containers import ExecOptions
from traincrew.embedded.streams.hangup import hung_up
from traincrew.embedded.streams.sizes import Sizes

V4, V5 = f"v4.{websockets.BINARY}", f"v5.{websockets.BINARY}"
V4_BASE64 = f"v4.{websockets.BASE64}"
PROTOCOLS = (V5, V4, V4_BASE64, websockets.BINARY, websockets.BASE64, "")
CLOSE = 255


class WebSocketPeer:
    def __init__(self, channels: websockets.Channels, protocol: str, transport: asyncio.BaseTransport | None) -> None:
        self._channels, self._protocol, self._transport = channels, protocol, transport
        self._sizes = Sizes()

    async def listen(self, sink: sessions.Sink) -> None:
        carrying, leaving = asyncio.create_task(self._carry(sink)), asyncio.create_task(hung_up(self._transport))
        try:
            await asyncio.wait({carrying, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            carrying.cancel()
            leaving.cancel()
            await asyncio.gather(carrying, leaving, return_exceptions=True)

    async def _carry(self, sink: sessions.Sink) -> None:
        while (message := await self._channels.receive()) is not None:
            channel, data = message
            if channel == sessions.STDIN:
                if data:
                    await sink.write(data)
            elif channel == sessions.RESIZE:
                for width, height in self._sizes.feed(data):
                    sink.resize(width, height)
            elif channel == CLOSE and self._protocol == V5 and data == bytes((sessions.STDIN,)):
                sink.close_stdin()

    async def send(self, channel: int, data: bytes) -> None:
        await self._channels.send(channel, data)

    async def finish(self, status: statuses.Status) -> None:
        if self._protocol in (V5, V4, V4_BASE64):
            await self._channels.send(sessions.ERROR, json.dumps(status, separators=(",", ":")).encode())
        elif status["status"] != "Success":
            await self._channels.send(sessions.ERROR, status["message"].encode())


@contextlib.asynccontextmanager
async def opened(request: web.Request, io: ExecOptions) -> AsyncIterator[tuple[WebSocketPeer, web.WebSocketResponse]]:
    protocol = negotiation.websocket(request, PROTOCOLS)
    async with websockets.accepted(request, protocol) as socket:
        channels = websockets.Channels(socket, protocol)
        # Clients take the first message, empty as it is, for the sign that the connection stands.
        await channels.send(sessions.STDOUT if io.stdout else sessions.STDERR if io.stderr else sessions.ERROR, b"")
        yield WebSocketPeer(channels, protocol, request.transport), socket
