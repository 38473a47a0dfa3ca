"""A connection to a port of a pod, over a WebSocket: a channel for data and a channel for an error."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import aiohttp

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.model import resources

DATA, ERROR = 0, 1
PROTOCOL = "v4.channel.k8s.io"
_PORT_BYTES = 2
"""The first message of each channel repeats the port."""


class PortConnection:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._announced: set[int] = set()

    async def write(self, data: bytes) -> None:
        await self._socket.send_bytes(bytes((DATA,)) + data)

    async def read(self) -> bytes:
        """The next bytes; empty when the peer has closed the connection. Raise ServerError if the port cannot be reached."""
        async for message in self._socket:
            data = message.data if isinstance(message.data, bytes) else str(message.data).encode()
            if message.type not in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT) or not data:
                continue
            channel, content = data[0], data[1:]
            if channel not in self._announced:
                self._announced.add(channel)
                content = content[_PORT_BYTES:]
            if content and channel == ERROR:
                raise errors.ServerError(content.decode(errors="replace").strip())
            if content and channel == DATA:
                return content
        return b""


@contextlib.asynccontextmanager
async def opened(client: RemoteClient, namespace: str, pod: str, port: int) -> AsyncIterator[PortConnection]:
    path = (resources.PODS, namespace, pod, "portforward")
    async with client.websocket(path, [("ports", str(port))], (PROTOCOL,)) as socket:
        yield PortConnection(socket)
