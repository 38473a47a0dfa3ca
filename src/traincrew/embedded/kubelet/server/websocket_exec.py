"""Exec and attach over a WebSocket: channels 0 to 4; v5 has a message that closes a channel."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

from aiohttp import web

from traincrew.embedded.kubelet.runtime.streaming import ExecOptions
from traincrew.embedded.kubelet.server import exec_sessions, exec_status, protocol_negotiation, websocket_channels
from traincrew.embedded.kubelet.server.terminal_sizes import TerminalSizes
from traincrew.serving.disconnects import wait_for_disconnect

V4, V5 = f"v4.{websocket_channels.BINARY}", f"v5.{websocket_channels.BINARY}"
V4_BASE64 = f"v4.{websocket_channels.BASE64}"
PROTOCOLS = (V5, V4, V4_BASE64, websocket_channels.BINARY, websocket_channels.BASE64, "")
CLOSE = 255


class WebSocketPeer:
    def __init__(
        self, channels: websocket_channels.WebSocketChannels, protocol: str, transport: asyncio.BaseTransport | None
    ) -> None:
        self._channels, self._protocol, self._transport = channels, protocol, transport
        self._sizes = TerminalSizes()

    async def listen(self, sink: exec_sessions.SessionInput) -> None:
        copying, disconnect = (
            asyncio.create_task(self._copy_input(sink)),
            asyncio.create_task(wait_for_disconnect(self._transport)),
        )
        try:
            await asyncio.wait({copying, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            copying.cancel()
            disconnect.cancel()
            await asyncio.gather(copying, disconnect, return_exceptions=True)

    async def _copy_input(self, sink: exec_sessions.SessionInput) -> None:
        while (message := await self._channels.receive()) is not None:
            channel, data = message
            if channel == exec_sessions.STDIN:
                if data:
                    await sink.write(data)
            elif channel == exec_sessions.RESIZE:
                for width, height in self._sizes.feed(data):
                    sink.resize(width, height)
            elif channel == CLOSE and self._protocol == V5 and data == bytes((exec_sessions.STDIN,)):
                sink.close_stdin()

    async def send(self, channel: int, data: bytes) -> None:
        await self._channels.send(channel, data)

    async def finish(self, status: exec_status.Status) -> None:
        if self._protocol in (V5, V4, V4_BASE64):
            await self._channels.send(exec_sessions.ERROR, json.dumps(status, separators=(",", ":")).encode())
        elif status["status"] != "Success":
            await self._channels.send(exec_sessions.ERROR, status["message"].encode())


@contextlib.asynccontextmanager
async def accept(request: web.Request, io: ExecOptions) -> AsyncIterator[tuple[WebSocketPeer, web.WebSocketResponse]]:
    protocol = protocol_negotiation.websocket(request, PROTOCOLS)
    async with websocket_channels.accept(request, protocol) as socket:
        channels = websocket_channels.WebSocketChannels(socket, protocol)
        # Clients wait for a first, empty message as the sign that the session is established.
        await channels.send(
            exec_sessions.STDOUT if io.stdout else exec_sessions.STDERR if io.stderr else exec_sessions.ERROR, b""
        )
        yield WebSocketPeer(channels, protocol, request.transport), socket
