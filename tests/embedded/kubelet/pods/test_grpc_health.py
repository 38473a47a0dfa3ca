"""gRPC probes as those of the kubelet (k8s.io/kubernetes 1.32, pkg/probe/grpc), against a server that sends HTTP/2 frames."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import time
from collections.abc import AsyncIterator

import pytest

from traincrew.embedded.kubelet.pods import hpack, http2_frames
from traincrew.embedded.kubelet.pods.grpc_health import GrpcAction
from traincrew.embedded.kubelet.pods.http2_frames import Frame
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.probe_actions import ProbeResult

HOST = "127.0.0.1"
SETTINGS = Frame(http2_frames.SETTINGS, 0, 0, b"")
END = http2_frames.END_HEADERS | http2_frames.END_STREAM
HEADERS = Frame(http2_frames.HEADERS, http2_frames.END_HEADERS, 1, b"\x88" + hpack.encode([("content-type", "application/grpc")]))
PING = Frame(http2_frames.PING, 0, 0, b"12345678")


def trailers(**fields: str) -> Frame:
    return Frame(http2_frames.HEADERS, END, 1, hpack.encode([(name.replace("_", "-"), text) for name, text in fields.items()]))


def health(status: bytes) -> Frame:
    return Frame(http2_frames.DATA, 0, 1, b"\x00" + len(status).to_bytes(4) + status)


SERVING = [SETTINGS, PING, HEADERS, health(b"\x08\x01"), trailers(grpc_status="0")]


class Server:
    """Sends the frames once it has the request."""

    def __init__(self, *frames: Frame | bytes) -> None:
        self._frames = frames
        self.fields: hpack.Fields = []
        self.message = b""
        self.answers: list[int] = []
        self.port = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Server]:
        async with await asyncio.start_server(self._serve, HOST, 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            assert await reader.readexactly(len(http2_frames.PREFACE)) == http2_frames.PREFACE
            while not self.message:
                frame = await self._read(reader)
                if frame.type == http2_frames.HEADERS:
                    self.fields = hpack.decode(frame.content)
                elif frame.type == http2_frames.DATA:
                    self.message = frame.content
            for each in self._frames:
                writer.write(each if isinstance(each, bytes) else each.encode())
            await writer.drain()
            if self._frames[-1:] == (b"",):
                return
            while True:
                self.answers.append((await self._read(reader)).type)

    async def _read(self, reader: asyncio.StreamReader) -> Frame:
        size, frame = http2_frames.header(await reader.readexactly(http2_frames.HEADER_SIZE))
        return frame._replace(payload=await reader.readexactly(size))


@pytest.fixture
def network(tmp_path: pathlib.Path) -> PodNetwork:
    return PodNetwork(None, HOST, tmp_path)


async def run(network: PodNetwork, server: Server, service: str = "", seconds: float = 20) -> ProbeResult:
    action = GrpcAction(network, HOST, server.port, service)
    try:
        async with asyncio.timeout(seconds):
            return await action.run()
    except TimeoutError:
        return ProbeResult(False, action.timeout_message(seconds))


async def test_a_service_that_serves_is_healthy(network: PodNetwork) -> None:
    async with Server(*SERVING).running() as server:
        assert await run(network, server, "train") == ProbeResult(True, "service healthy")
    assert dict(server.fields)[":path"] == "/grpc.health.v1.Health/Check"
    assert dict(server.fields)[":authority"] == f"{HOST}:{server.port}"
    assert server.message == b"\x00\x00\x00\x00\x07\x0a\x05train"


RPC = "error: health rpc probe failed: rpc error: code ="


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([SETTINGS, HEADERS, health(b"\x08\x02"), trailers(grpc_status="0")], 'service unhealthy (responded with "NOT_SERVING")'),
        ([SETTINGS, HEADERS, health(b""), trailers(grpc_status="0")], 'service unhealthy (responded with "UNKNOWN")'),
        (
            [SETTINGS, Frame(1, END, 1, b"\x88" + hpack.encode([("grpc-status", "5"), ("grpc-message", "unknown%20service")]))],
            f"{RPC} NotFound desc = unknown service",
        ),
        (
            [SETTINGS, trailers(grpc_status="12", grpc_message="no such method")],
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): no such method",
        ),
        (
            [SETTINGS, Frame(1, END, 1, b"\x48" + b"\x03503")],
            f"{RPC} Unavailable desc = unexpected HTTP status code received from server: 503 (Service Unavailable)",
        ),
        (
            [SETTINGS, Frame(http2_frames.RST_STREAM, 0, 1, b"\x00\x00\x00\x08")],
            f"{RPC} Unavailable desc = error reading from server: stream terminated by RST_STREAM with error code: 8",
        ),
        ([SETTINGS, HEADERS, b""], f"{RPC} Unavailable desc = error reading from server: EOF"),
        (
            [SETTINGS, HEADERS, Frame(0, 0, 1, bytes(16000)), *[Frame(0, 0, 1, bytes(16000))] * 4],
            f"{RPC} Unavailable desc = error reading from server: the response has more than 65536 bytes",
        ),
    ],
)
async def test_every_other_response_is_a_failure(network: PodNetwork, frames: list[Frame | bytes], message: str) -> None:
    async with Server(*frames).running() as server:
        assert await run(network, server) == ProbeResult(False, message)


async def test_a_server_of_another_protocol_is_named(network: PodNetwork) -> None:
    async with Server(b"HTTP/1.1 400 Bad Request\r\n\r\n").running() as server:
        result = await run(network, server)
    why = 'connection error: desc = "error reading server preface: http2: frame too large"'
    assert result == ProbeResult(False, f'error: failed to connect service at "{HOST}:{server.port}": {why}')


async def test_a_refused_connection_is_a_failure(network: PodNetwork) -> None:
    async with Server().running() as server:
        pass
    why = f"dial tcp {HOST}:{server.port}: connect: connection refused"
    expected = f'error: failed to connect service at "{HOST}:{server.port}": {why}'
    assert await run(network, server) == ProbeResult(False, expected)


async def test_a_server_that_does_not_respond_in_time_is_a_failure(network: PodNetwork) -> None:
    async with Server(SETTINGS).running() as server:
        assert (await run(network, server, seconds=0.5)).message == "timeout: health rpc did not complete within 0.5s"
        assert server.answers == [http2_frames.SETTINGS]
    async with Server(PING).running() as server:
        expected = f'timeout: failed to connect service "{HOST}:{server.port}" within 0.5s: context deadline exceeded'
        assert (await run(network, server, seconds=0.5)).message == expected


def test_header_fields_in_huffman_code_are_decoded() -> None:
    """The examples of RFC 7541, C.6.1."""
    block = bytes.fromhex("4882640258 85aec3771a4b".replace(" ", ""))
    assert hpack.decode(block) == [(":status", "302"), ("", "private")]
    with pytest.raises(ValueError, match="hpack"):
        hpack.decode(block[:-1])


@pytest.mark.parametrize(
    "code",
    [b"\xff" * 65_000, b"\x1f\xff", b"\x00", b"\xff\xff\xff\xfc"],
    ids=["without end", "long padding", "padding of zeros", "end of string"],
)
def test_invalid_huffman_code_is_rejected_at_its_first_bits(code: bytes) -> None:
    """Reading the whole of a code that never ends took nine seconds."""
    size = len(code) - 0x7F
    length = bytes([0x80 | len(code)]) if size < 0 else bytes([0xFF, size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14])
    started = time.process_time()
    with pytest.raises(ValueError, match="hpack: invalid Huffman code"):
        hpack.decode(b"\x00\x01a" + length + code)
    assert time.process_time() - started < 2


def test_long_texts_are_encoded() -> None:
    for size in (126, 127, 128, 300, 20_000):
        assert hpack.decode(hpack.encode([("a", "x" * size)])) == [("a", "x" * size)]
