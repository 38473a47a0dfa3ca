"""SPDY/3.1: fragmentation of frames, flow control, and protocol errors."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embedded.kubelet.server import stream_clients
from tests.embedded.kubelet.server.nodes import Node
from tests.embedded.kubelet.server.stream_clients import query

from traincrew.embedded.kubelet.server import spdy_frames, spdy_headers

PATH = "/exec/ns/pod/main?"


def _encoded_session() -> bytes:
    encoder = spdy_frames.Encoder()
    return b"".join(
        (
            encoder.open(1, {"streamtype": "stdin", "Port": "80"}),
            encoder.reply(1, {}),
            spdy_frames.data(1, b"hello"),
            spdy_frames.data(1, b"", fin=True),
            spdy_frames.ping(5),
            spdy_frames.settings({spdy_frames.INITIAL_WINDOW: 7}),
            spdy_frames.window_update(0, 99),
            encoder.open(3, {"streamtype": "stdin"}),
            spdy_frames.rst_stream(3, spdy_frames.CANCEL),
            spdy_frames.go_away(3, 1),
        )
    )


def _decode(pieces: list[bytes]) -> list[spdy_frames.Frame]:
    """The frames, with the parts of each data frame joined."""
    decoder = spdy_frames.Decoder()
    frames: list[spdy_frames.Frame] = []
    for piece in pieces:
        for frame in decoder.feed(piece):
            last = frames[-1] if frames else None
            if (
                isinstance(frame, spdy_frames.DataFrame)
                and isinstance(last, spdy_frames.DataFrame)
                and not last.fin
                and last.data != b"hello"
            ):
                frames[-1] = spdy_frames.DataFrame(frame.stream, last.data + frame.data, frame.fin)
            else:
                frames.append(frame)
    return frames


@given(st.lists(st.integers(1, 300)))
def test_frames_are_decoded_from_any_fragmentation(cuts: list[int]) -> None:
    encoded = _encoded_session()
    edges = sorted({0, len(encoded), *(cut for cut in cuts if cut < len(encoded))})
    assert _decode([encoded[start:end] for start, end in itertools.pairwise(edges)]) == [
        spdy_frames.SynStream(1, {"streamtype": "stdin", "port": "80"}, False),
        spdy_frames.SynReply(1, {}, False),
        spdy_frames.DataFrame(1, b"hello", False),
        spdy_frames.DataFrame(1, b"", True),
        spdy_frames.Ping(5),
        spdy_frames.Settings({spdy_frames.INITIAL_WINDOW: 7}),
        spdy_frames.WindowUpdate(0, 99),
        spdy_frames.SynStream(3, {"streamtype": "stdin"}, False),
        spdy_frames.RstStream(3, spdy_frames.CANCEL),
        spdy_frames.GoAway(3, 1),
    ]


@given(st.binary(max_size=400))
def test_random_bytes_are_a_bad_frame_or_an_incomplete_one(noise: bytes) -> None:
    with contextlib.suppress(spdy_frames.BadFrame):
        for frame in spdy_frames.Decoder().feed(noise):
            assert isinstance(frame, tuple)


def test_headers_that_expand_beyond_the_limit_are_rejected() -> None:
    swollen = zlib.compressobj(9, zdict=spdy_headers.DICTIONARY)
    block = swollen.compress(b"\0" * 10_000_000) + swollen.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(spdy_headers.BadHeaders):
        spdy_headers.Inflater().unpack(block)


class RawClient:
    """A client that encodes and decodes frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer
        self.encoder, self._decoder = spdy_frames.Encoder(), spdy_frames.Decoder()
        self._frames: list[spdy_frames.Frame] = []

    async def next(self) -> spdy_frames.Frame | None:
        async with asyncio.timeout(20):
            while not self._frames:
                data = await self._reader.read(65536)
                if not data:
                    return None
                self._frames += self._decoder.feed(data)
        return self._frames.pop(0)

    async def open(self, *names: str) -> None:
        for id, name in zip(range(1, 99, 2), names, strict=False):
            self.writer.write(self.encoder.open(id, {"streamtype": name}))
            assert await self.next() == spdy_frames.SynReply(id, {}, False)


@contextlib.asynccontextmanager
async def connect_raw(node: Node, path: str) -> AsyncIterator[RawClient]:
    head, reader, writer = await stream_clients.upgrade(node, path, {"X-Stream-Protocol-Version": stream_clients.V4})
    assert " 101 " in head
    yield RawClient(reader, writer)
    writer.transport.abort()


async def test_pings_are_answered(node: Node) -> None:
    async with connect_raw(node, PATH + query("cat", channels="input output")) as peer:
        peer.writer.write(spdy_frames.ping(7))
        assert await peer.next() == spdy_frames.Ping(7)


async def test_a_peer_with_flow_control_receives_no_more_than_its_window(node: Node) -> None:
    async with connect_raw(node, PATH + query("head", "-c", "5000", "/dev/zero", channels="output")) as peer:
        peer.writer.write(spdy_frames.settings({spdy_frames.INITIAL_WINDOW: 1000}))
        await peer.open("error", "stdout")
        first = await peer.next()
        assert isinstance(first, spdy_frames.DataFrame)
        assert (first.stream, len(first.data)) == (3, 1000)
        peer.writer.write(spdy_frames.ping(1))
        assert await peer.next() == spdy_frames.Ping(1)  # no data precedes it
        peer.writer.write(spdy_frames.window_update(3, 1500))
        second = await peer.next()
        assert isinstance(second, spdy_frames.DataFrame)
        assert len(second.data) == 1500


async def test_a_peer_with_flow_control_receives_window_updates(node: Node) -> None:
    async with connect_raw(node, PATH + query("sh", "-c", "cat >/dev/null", channels="input output")) as peer:
        peer.writer.write(spdy_frames.settings({}))
        await peer.open("error", "stdin", "stdout")
        peer.writer.write(spdy_frames.data(3, b"x" * 40_000))
        assert {await peer.next(), await peer.next()} == {
            spdy_frames.WindowUpdate(3, 40_000),
            spdy_frames.WindowUpdate(0, 40_000),
        }


async def test_a_peer_without_flow_control_receives_everything(node: Node) -> None:
    """Go's spdystream never sends WINDOW_UPDATE."""
    async with stream_clients.spdy_exec(node, PATH + query("head", "-c", "1000000", "/dev/zero", channels="output")) as running:
        assert await running.outcome() == 0
    assert len(running.received["stdout"]) == 1_000_000


async def test_stream_ids_must_be_odd_and_increasing(node: Node) -> None:
    async with connect_raw(node, PATH + query("cat", channels="input output")) as peer:
        await peer.open("error")
        for id in (2, 1):
            peer.writer.write(peer.encoder.open(id, {"streamtype": "stdin"}))
            assert await peer.next() == spdy_frames.RstStream(id, spdy_frames.PROTOCOL_ERROR)


async def test_streams_of_an_unknown_or_duplicate_type_are_rejected(node: Node) -> None:
    async with connect_raw(node, PATH + query("cat", channels="input output")) as peer:
        for id, kind in ((1, "error"), (3, "error"), (5, "nonsense")):
            peer.writer.write(peer.encoder.open(id, {"streamtype": kind}))
            assert await peer.next() == spdy_frames.SynReply(id, {}, False)
            if id > 1:
                assert await peer.next() == spdy_frames.RstStream(id, spdy_frames.REFUSED_STREAM)


async def test_data_for_an_unknown_stream_is_answered_with_a_reset(node: Node) -> None:
    async with connect_raw(node, PATH + query("cat", channels="input output")) as peer:
        peer.writer.write(spdy_frames.data(9, b"x"))
        assert await peer.next() == spdy_frames.RstStream(9, spdy_frames.INVALID_STREAM)


async def test_a_connection_that_is_not_spdy_gets_goaway_and_is_closed(node: Node) -> None:
    async with connect_raw(node, PATH + query("cat", channels="input output")) as peer:
        peer.writer.write(b"\xff" * 100)
        assert await peer.next() == spdy_frames.GoAway(0, spdy_frames.PROTOCOL_ERROR)
        assert await peer.next() is None


async def test_a_reset_of_stdin_closes_it(node: Node) -> None:
    async with connect_raw(node, PATH + query("cat", channels="input output")) as peer:
        await peer.open("error", "stdin", "stdout")
        peer.writer.write(spdy_frames.data(3, b"so far") + spdy_frames.rst_stream(3, spdy_frames.CANCEL))
        assert await peer.next() == spdy_frames.DataFrame(5, b"so far", False)
        assert await peer.next() == spdy_frames.DataFrame(5, b"", True)
