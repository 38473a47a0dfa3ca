"""Exec and attach over SPDY/3.1: one stream for each of error, stdin, stdout, stderr and resize."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping

from aiohttp import web

from traincrew.embedded.kubelet.runtime.streaming import ExecOptions
from traincrew.embedded.kubelet.server import (
    exec_sessions,
    exec_status,
    protocol_negotiation,
    spdy_connection,
    spdy_frames,
    spdy_stream,
)
from traincrew.embedded.kubelet.server.terminal_sizes import TerminalSizes
from traincrew.embedded.kubelet.server.transports import StreamTransport
from traincrew.serving.upgrades import hijack

V1, V2, V3, V4 = "channel.k8s.io", "v2.channel.k8s.io", "v3.channel.k8s.io", "v4.channel.k8s.io"
PROTOCOLS = (V4, V3, V2, V1)
STREAM_CREATION_TIMEOUT = 30.0
"""Seconds in which the client must open its streams."""
_NAMES = {exec_sessions.STDIN: "stdin", exec_sessions.STDOUT: "stdout", exec_sessions.STDERR: "stderr"}


class StreamsIncomplete(Exception):
    """The client did not open the streams of its request."""


class SpdyPeer:
    def __init__(
        self, connection: spdy_connection.SpdyConnection, streams: Mapping[str, spdy_stream.SpdyStream], protocol: str
    ) -> None:
        self._connection, self._streams, self._protocol = connection, streams, protocol

    async def listen(self, sink: exec_sessions.SessionInput) -> None:
        copying = [asyncio.create_task(self._input(sink)), asyncio.create_task(self._sizes(sink))]
        try:
            await self._connection.gone.wait()
        finally:
            for task in copying:
                task.cancel()
            await asyncio.gather(*copying, return_exceptions=True)

    async def send(self, channel: int, data: bytes) -> None:
        if stream := self._streams.get(_NAMES[channel]):
            await stream.write(data)

    async def finish(self, status: exec_status.Status) -> None:
        for name in ("stdout", "stderr"):
            if stream := self._streams.get(name):
                await stream.finish()
        error = self._streams["error"]
        if self._protocol == V4:
            await error.write(json.dumps(status, separators=(",", ":")).encode())
        elif status["status"] != "Success":
            await error.write(status["message"].encode())
        await error.finish()

    async def _input(self, sink: exec_sessions.SessionInput) -> None:
        if stdin := self._streams.get("stdin"):
            while data := await stdin.read():
                await sink.write(data)
        sink.close_stdin()

    async def _sizes(self, sink: exec_sessions.SessionInput) -> None:
        if resize := self._streams.get("resize"):
            sizes = TerminalSizes()
            while data := await resize.read():
                for width, height in sizes.feed(data):
                    sink.resize(width, height)


@contextlib.asynccontextmanager
async def accept(request: web.Request, io: ExecOptions) -> AsyncIterator[SpdyPeer]:
    protocol = protocol_negotiation.spdy(request, PROTOCOLS)
    async with (
        hijack(request, protocol_negotiation.switching(protocol)) as (reader, writer),
        spdy_connection.serve(StreamTransport(reader, writer)) as connection,
    ):
        try:
            async with asyncio.timeout(STREAM_CREATION_TIMEOUT):
                streams = await _streams(connection, _expected(io, protocol))
        except TimeoutError:
            raise StreamsIncomplete("timed out waiting for client to create streams") from None
        yield SpdyPeer(connection, streams, protocol)


def _expected(io: ExecOptions, protocol: str) -> int:
    resizes = io.tty and protocol in (V3, V4)
    return 1 + io.stdin + io.stdout + io.stderr + resizes


async def _streams(connection: spdy_connection.SpdyConnection, expected: int) -> dict[str, spdy_stream.SpdyStream]:
    streams: dict[str, spdy_stream.SpdyStream] = {}
    while len(streams) < expected:
        stream = await connection.accept()
        if stream is None:
            raise StreamsIncomplete("the client disconnected before it had opened its streams")
        kind = stream.headers.get("streamtype", "")
        if kind in ("error", "stdin", "stdout", "stderr", "resize") and kind not in streams:
            streams[kind] = stream
        else:
            await stream.reset(spdy_frames.REFUSED_STREAM)
    return streams
