"""gRPC probes: one call of grpc.health.v1.Health/Check. Every failed call is a failure of the probe, as in the kubelet."""

from __future__ import annotations

import asyncio
import contextlib

from traincrew.apimachinery import go_format
from traincrew.embedded.kubelet.pods import grpc_messages, hpack, http2_frames, probe_messages
from traincrew.embedded.kubelet.pods.http2_frames import Frame
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.probe_actions import ProbeResult

RESPONSE_LIMIT = 1 << 16
"""Bytes of a response: a server must not fill the memory of the node."""


class GrpcAction:
    def __init__(self, network: PodNetwork, host: str, port: int, service: str) -> None:
        self._network, self._host, self._port, self._service = network, host, port, service
        self._address = probe_messages.authority(host, port)
        self._connected = False
        """Whether the server has sent its settings."""

    async def run(self) -> ProbeResult:
        try:
            reader, writer = await self._network.connect(self._host, self._port)
        except OSError as error:
            return self._not_connected(probe_messages.dial_error(self._host, self._port, error))
        with contextlib.closing(writer):
            try:
                request = http2_frames.request(grpc_messages.fields(self._address), grpc_messages.body(self._service))
                writer.write(http2_frames.PREFACE + http2_frames.settings().encode() + request)
                failure = await self._response(_Frames(reader), writer)
            except (OSError, EOFError, ValueError) as error:
                reason = "EOF" if isinstance(error, EOFError) else str(error)
                if not self._connected:
                    return self._not_connected(f'connection error: desc = "error reading server preface: {reason}"')
                failure = grpc_messages.rpc_error(grpc_messages.UNAVAILABLE, f"error reading from server: {reason}")
        return ProbeResult(not failure, failure or "service healthy")

    def timeout_message(self, seconds: float) -> str:
        if self._connected:
            return f"timeout: health rpc did not complete within {seconds:g}s"
        return (
            f"timeout: failed to connect service {go_format.quote(self._address)} within {seconds:g}s: context deadline exceeded"
        )

    def _not_connected(self, reason: str) -> ProbeResult:
        return ProbeResult(False, f"error: failed to connect service at {go_format.quote(self._address)}: {reason}")

    async def _response(self, frames: _Frames, writer: asyncio.StreamWriter) -> str:
        """Why the probe fails; empty: it passes. Raises OSError, EOFError and ValueError."""
        response, message = dict[str, str](), b""
        while True:
            frame = await frames.read()
            self._connected |= frame.type == http2_frames.SETTINGS
            if frame.type in (http2_frames.SETTINGS, http2_frames.PING) and not frame.flags & http2_frames.ACK:
                writer.write(http2_frames.acknowledged(frame).encode())
            elif frame.type == http2_frames.HEADERS:
                response |= hpack.decode(await frames.header_block(frame))
            elif frame.type == http2_frames.DATA:
                message += frame.content
            else:
                http2_frames.check(frame)
            if frame.type in (http2_frames.HEADERS, http2_frames.DATA) and frame.flags & http2_frames.END_STREAM:
                return grpc_messages.failure(response, message)


class _Frames:
    """The frames that the server sends."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader, self._size = reader, 0

    async def read(self) -> Frame:
        """Raises OSError, EOFError and ValueError."""
        size, frame = http2_frames.header(await self._reader.readexactly(http2_frames.HEADER_SIZE))
        self._size += http2_frames.HEADER_SIZE + size
        if self._size > RESPONSE_LIMIT:
            raise ValueError(f"the response has more than {RESPONSE_LIMIT} bytes")
        return frame._replace(payload=await self._reader.readexactly(size))

    async def header_block(self, frame: Frame) -> bytes:
        """Of a HEADERS frame and those that continue it."""
        block = frame.content
        while not frame.flags & http2_frames.END_HEADERS:
            frame = await self.read()
            if frame.type != http2_frames.CONTINUATION:
                raise ValueError("http2: unfinished header fields")
            block += frame.payload
        return block
