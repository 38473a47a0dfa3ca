"""Port-forward over SPDY/3.1: a data stream and an error stream for each connection."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Coroutine, Mapping
from typing import Any

from aiohttp import web

from traincrew.embedded.kubelet.runtime.streaming import StreamingRuntime, StreamUnavailable
from traincrew.embedded.kubelet.server import protocol_negotiation, spdy_connection, spdy_stream, websocket_channels
from traincrew.embedded.kubelet.server.transports import StreamTransport, WebSocketTransport
from traincrew.serving.upgrades import HijackedResponse, hijack

PROTOCOL = "portforward.k8s.io"
TUNNELED = f"{protocol_negotiation.SPDY}+{PROTOCOL}"
"""SPDY inside the messages of a WebSocket, as kubectl uses it since 1.31."""
PAIRING_TIMEOUT = 30.0
"""Seconds to wait for the second stream of a connection."""
_PIECE = 64 * 1024


@dataclasses.dataclass(frozen=True)
class PortForwardTarget:
    """The pod whose ports are forwarded."""

    containers: StreamingRuntime
    namespace: str
    pod: str
    uid: str = ""

    async def connect(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await self.containers.connect(self.namespace, self.pod, port)

    def fault(self, port: int, error: Exception) -> str:
        return f"error forwarding port {port} to pod {self.pod}, uid {self.uid}: {error}"


async def over_spdy(request: web.Request, target: PortForwardTarget) -> web.StreamResponse:
    protocol = protocol_negotiation.spdy(request, (PROTOCOL,))
    with contextlib.suppress(ConnectionError):
        async with (
            hijack(request, protocol_negotiation.switching(protocol)) as (reader, writer),
            spdy_connection.serve(StreamTransport(reader, writer), _admits) as connection,
        ):
            await SpdyForwarder(connection, target).run()
    return HijackedResponse()


async def over_tunnel(request: web.Request, target: PortForwardTarget) -> web.StreamResponse:
    async with (
        websocket_channels.accept(request, TUNNELED) as socket,
        spdy_connection.serve(WebSocketTransport(socket, request.transport), _admits) as connection,
    ):
        await SpdyForwarder(connection, target).run()
    return socket


def _admits(headers: Mapping[str, str]) -> bool:
    port = headers.get("port", "")
    return headers.get("streamtype") in ("data", "error") and port.isdecimal() and 0 < int(port) < 65536


class SpdyForwarder:
    """Pairs the streams by request id, and forwards each pair."""

    def __init__(self, connection: spdy_connection.SpdyConnection, target: PortForwardTarget) -> None:
        self._connection, self._target = connection, target
        self._pairs: dict[str, dict[str, spdy_stream.SpdyStream]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Runs until the client has disconnected."""
        try:
            while stream := await self._connection.accept():
                await self._pair(stream)
            await self._connection.gone.wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pair(self, stream: spdy_stream.SpdyStream) -> None:
        kind, request = stream.headers["streamtype"], _request(stream)
        pair = self._pairs.setdefault(request, {})
        if kind in pair:
            if error := pair.get("error"):
                text = f"error processing stream for request {request}: {kind} stream already assigned"
                with contextlib.suppress(ConnectionError):
                    await error.write(text.encode())
            return
        pair[kind] = stream
        if len(pair) == 1:
            self._spawn(self._expire(request, pair))
        else:
            del self._pairs[request]
            self._spawn(self._forward(pair["data"], pair["error"]))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _expire(self, request: str, pair: dict[str, spdy_stream.SpdyStream]) -> None:
        await asyncio.sleep(PAIRING_TIMEOUT)
        if self._pairs.get(request) is pair:
            del self._pairs[request]
            with contextlib.suppress(ConnectionError):
                for stream in pair.values():
                    if stream.headers["streamtype"] == "error":
                        await stream.write(f"(request={request}) timed out waiting for streams".encode())
                    await stream.reset()

    async def _forward(self, data: spdy_stream.SpdyStream, error: spdy_stream.SpdyStream) -> None:
        port = int(data.headers["port"])
        with contextlib.suppress(ConnectionError):
            try:
                reader, writer = await self._target.connect(port)
            except (OSError, StreamUnavailable) as failure:
                await error.write(self._target.fault(port, failure).encode())
                await error.finish()
                await data.reset()
                return
            try:
                await _copy_both_ways(data, reader, writer)
            finally:
                writer.close()
            await data.finish()
            await error.finish()


def _request(stream: spdy_stream.SpdyStream) -> str:
    """Old clients send no request id: the data stream follows its error stream."""
    if number := stream.headers.get("requestid"):
        return number
    return str(stream.id if stream.headers["streamtype"] == "error" else stream.id - 2)


async def _copy_both_ways(data: spdy_stream.SpdyStream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Each side may close its half; a reset closes both."""
    sending = asyncio.create_task(_send(data, writer))
    try:
        while piece := await reader.read(_PIECE):
            await data.write(piece)
        await data.finish()
        await sending
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _send(data: spdy_stream.SpdyStream, writer: asyncio.StreamWriter) -> None:
    writable = True
    while piece := await data.read():
        # After the server has closed, data is dropped: it would block the client's other connections.
        if writable:
            try:
                writer.write(piece)
                await writer.drain()
            except ConnectionError:
                writable = False
    if data.was_reset:
        writer.transport.abort()
    elif writable and writer.can_write_eof():
        writer.write_eof()
