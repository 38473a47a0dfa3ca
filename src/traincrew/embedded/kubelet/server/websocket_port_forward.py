"""Port-forward over a WebSocket: each port of the query has a data channel and an error channel."""

from __future__ import annotations

import asyncio
import contextlib
import struct

from aiohttp import web

from traincrew.embedded.kubelet.runtime.streaming import StreamError
from traincrew.embedded.kubelet.server import protocol_negotiation, websocket_channels
from traincrew.embedded.kubelet.server.spdy_port_forward import PROTOCOL, TUNNELED, PortForwardTarget, over_tunnel

V4, V4_BASE64 = f"v4.{websocket_channels.BINARY}", f"v4.{websocket_channels.BASE64}"
PROTOCOLS = (V4, V4_BASE64, PROTOCOL, TUNNELED, "")
_PIECE = 64 * 1024


async def over_websocket(request: web.Request, target: PortForwardTarget) -> web.StreamResponse:
    protocol = protocol_negotiation.websocket(request, PROTOCOLS)
    if protocol == TUNNELED:
        return await over_tunnel(request, target)
    ports = _ports(request)
    async with websocket_channels.accept(request, protocol) as socket:
        with contextlib.suppress(ConnectionError):
            await _Forwarder(websocket_channels.WebSocketChannels(socket, protocol), target, ports).run()
    return socket


def _ports(request: web.Request) -> list[int]:
    given = request.query.getall("port", [])
    if not given:
        raise web.HTTPBadRequest(text='query parameter "port" is required')
    return [_port(text, value) for value in given for text in value.split(",")]


def _port(text: str, value: str) -> int:
    if not value:
        raise web.HTTPBadRequest(text='query parameter "port" cannot be empty')
    if not (text.isascii() and text.isdecimal()):
        error = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise web.HTTPBadRequest(text=f'unable to parse "{value}" as a port: {error}')
    if int(text) > 65535:
        raise web.HTTPBadRequest(
            text=f'unable to parse "{value}" as a port: strconv.ParseUint: parsing "{text}": value out of range'
        )
    if int(text) < 1:
        raise web.HTTPBadRequest(text=f'port "{value}" must be > 0')
    return int(text)


class _Forwarder:
    def __init__(self, channels: websocket_channels.WebSocketChannels, target: PortForwardTarget, ports: list[int]) -> None:
        self._channels, self._target, self._ports = channels, target, ports
        self._writers: dict[int, asyncio.StreamWriter] = {}

    async def run(self) -> None:
        """Runs until every connection has ended, or the client has disconnected."""
        for index, port in enumerate(self._ports):
            for channel in (2 * index, 2 * index + 1):
                await self._channels.send(channel, struct.pack("<H", port))
        forwarding = asyncio.create_task(self._forward_all())
        listening = asyncio.create_task(self._listen())
        try:
            await asyncio.wait({forwarding, listening}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            forwarding.cancel()
            listening.cancel()
            try:
                await asyncio.gather(forwarding, listening, return_exceptions=True)
            finally:
                for writer in self._writers.values():
                    writer.close()

    async def _forward_all(self) -> None:
        await asyncio.gather(*(self._forward(index, port) for index, port in enumerate(self._ports)))

    async def _forward(self, index: int, port: int) -> None:
        try:
            reader, self._writers[2 * index] = await self._target.connect(port)
        except (OSError, StreamError) as error:
            await self._channels.send(2 * index + 1, self._target.fault(port, error).encode())
            return
        while piece := await reader.read(_PIECE):
            await self._channels.send(2 * index, piece)

    async def _listen(self) -> None:
        while (message := await self._channels.receive()) is not None:
            channel, data = message
            if writer := self._writers.get(channel):
                with contextlib.suppress(ConnectionError):
                    writer.write(data)
                    await writer.drain()
