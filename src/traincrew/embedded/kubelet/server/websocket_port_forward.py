"""Port-forward over a WebSocket: each port of the query has a data channel and an error channel."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Coroutine
from typing import Any

from aiohttp import web

from traincrew.embedded.kubelet.runtime.streaming import StreamUnavailable
from traincrew.embedded.kubelet.server import protocol_negotiation, websocket_channels
from traincrew.embedded.kubelet.server.channel_buffer import ChannelBuffer
from traincrew.embedded.kubelet.server.spdy_port_forward import PROTOCOL, TUNNELED, PortForwardTarget, over_tunnel
from traincrew.serving.disconnects import wait_for_disconnect

V4, V4_BASE64 = f"v4.{websocket_channels.BINARY}", f"v4.{websocket_channels.BASE64}"
PROTOCOLS = (V4, V4_BASE64, PROTOCOL, TUNNELED, "")
BUFFER_BYTES = 256 * 1024
"""Bytes for one port that are not sent yet. When there are more, the client's connection is not read until they are sent."""
FLUSH_SECONDS = 5.0
"""Seconds to deliver the data of a client that has disconnected."""
_PIECE = 64 * 1024


async def over_websocket(request: web.Request, target: PortForwardTarget) -> web.StreamResponse:
    protocol = protocol_negotiation.websocket(request, PROTOCOLS)
    if protocol == TUNNELED:
        return await over_tunnel(request, target)
    ports = _ports(request)
    async with websocket_channels.accept(request, protocol) as socket:
        channels = websocket_channels.WebSocketChannels(socket, protocol)
        forwarding = asyncio.create_task(_Forwarder(channels, target, ports).run(wait_for_disconnect(request.transport)))
        try:
            await asyncio.shield(forwarding)
        except asyncio.CancelledError:
            # The server cancels a handler when its connection is lost. What the client has sent before is still delivered.
            if request.transport is not None:
                forwarding.cancel()
            await asyncio.wait({forwarding})
            raise
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
        self._buffers = [ChannelBuffer(BUFFER_BYTES) for _ in ports]

    async def run(self, disconnect: Coroutine[Any, Any, None]) -> None:
        """Runs until every connection has ended, or the client has disconnected."""
        works = (self._forward_all(), self._listen(), disconnect)
        tasks = forwarding, listening, _ = [asyncio.create_task(work) for work in works]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not forwarding.done():
                await self._flush(listening)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _flush(self, listening: asyncio.Task[None]) -> None:
        """A client may send data and disconnect at once. What it has sent is still delivered."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await listening
                for buffer in self._buffers:
                    await buffer.drained()

    async def _forward_all(self) -> None:
        for index, port in enumerate(self._ports):
            for channel in (2 * index, 2 * index + 1):
                await self._channels.send(channel, struct.pack("<H", port))
        await asyncio.gather(*(self._forward(index, port) for index, port in enumerate(self._ports)))

    async def _forward(self, index: int, port: int) -> None:
        buffer = self._buffers[index]
        try:
            reader, writer = await self._target.connect(port)
        except (OSError, StreamUnavailable) as error:
            buffer.discard()
            await self._channels.send(2 * index + 1, self._target.fault(port, error).encode())
            return
        sending = asyncio.create_task(_send(buffer, writer))
        try:
            with contextlib.suppress(ConnectionError):
                while piece := await reader.read(_PIECE):
                    await self._channels.send(2 * index, piece)
        finally:
            sending.cancel()
            buffer.discard()
            writer.close()
            await asyncio.gather(sending, return_exceptions=True)

    async def _listen(self) -> None:
        while (message := await self._channels.receive()) is not None:
            channel, data = message
            if channel % 2 == 0 and channel // 2 < len(self._buffers):
                await self._buffers[channel // 2].put(data)


async def _send(buffer: ChannelBuffer, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            writer.write(await buffer.get())
            await writer.drain()
    except ConnectionError:
        buffer.discard()
