"""A SPDY/3.1 connection, as Kubernetes uses it: clients open streams, both sides send data.

Back-pressure is that of the transport: a stream whose reader is slow stops the reading of the whole connection, as in Go's
spdystream. For a peer that sends a SETTINGS or a WINDOW_UPDATE frame, SPDY's flow control applies in addition.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

from traincrew.embedded.kubelet.server import spdy_flow_control, spdy_frames
from traincrew.embedded.kubelet.server.spdy_stream import SpdyStream, StreamGone
from traincrew.embedded.kubelet.server.transports import ByteTransport

_MAX_BUFFER = 8 * 1024 * 1024
"""Bytes that all streams may buffer before the connection is no longer read."""
_MAX_STREAMS = 2000
LINGER = 5.0
"""Seconds to wait for the peer to close the connection."""


class SpdyConnection:
    """The connection works only while `run` is running."""

    def __init__(self, wire: ByteTransport, admits: Callable[[Mapping[str, str]], bool] = lambda headers: True) -> None:
        self.gone = asyncio.Event()
        """The peer has disconnected, or has sent GOAWAY."""
        self.initial_window = spdy_flow_control.DEFAULT
        self.counts = False
        """Whether the peer uses flow control."""
        self.held = 0
        self._wire, self._admits = wire, admits
        self._window = spdy_flow_control.SendWindow()
        self._receipts = spdy_flow_control.Receipts()
        self._encoder, self._decoder = spdy_frames.Encoder(), spdy_frames.Decoder()
        self._streams: dict[int, SpdyStream] = {}
        self._last = -1
        self._next = 1
        self._opened: asyncio.Queue[SpdyStream | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._closing = False

    async def run(self) -> None:
        try:
            while data := await self._wire.read():
                for frame in self._decoder.feed(data):
                    await self._take(frame)
                await self._wait_for_room()
        except spdy_frames.BadFrame:
            with contextlib.suppress(ConnectionError):
                await self.send(spdy_frames.go_away(max(self._last, 0), spdy_frames.PROTOCOL_ERROR))
        except ConnectionError:
            pass
        finally:
            self._end()
            await self._wire.close()

    async def watch(self) -> None:
        await self._wire.wait_for_disconnect()
        self._end()

    async def accept(self) -> SpdyStream | None:
        """The next stream that the client opens; None after GOAWAY or the end of the connection."""
        return await self._opened.get()

    async def open(self, headers: Mapping[str, str]) -> SpdyStream:
        """Opens a stream as a client."""
        stream = SpdyStream(self, self._next, dict(headers))
        self._next += 2
        self._streams[stream.id] = stream
        await self.send(self._encoder.open(stream.id, headers))
        return stream

    async def close(self) -> None:
        """Resets all streams and sends GOAWAY. `run` continues until the peer has closed the connection."""
        self._closing = True
        self._room.set()
        with contextlib.suppress(ConnectionError):
            for stream in list(self._streams.values()):
                await stream.reset()
            await self.send(spdy_frames.go_away(max(self._last, 0)))

    async def send(self, frame: bytes) -> None:
        await self._wire.write(frame)

    async def allowance(self, stream: SpdyStream, size: int) -> int:
        """Waits until the windows allow at least one byte. Takes the number of bytes from them and returns it."""
        while True:
            if stream.was_reset or stream.sent_all or self.gone.is_set():
                raise StreamGone(f"stream {stream.id} is closed")
            if amount := self._window.room(stream.window.room(size)):
                stream.window.take(amount)
                self._window.take(amount)
                return amount
            await stream.window.wait()
            await self._window.wait()

    async def taken(self, stream: SpdyStream, amount: int, receipts: spdy_flow_control.Receipts) -> None:
        self._room.set()
        if not self.counts or self.gone.is_set():
            return
        for id, due in ((stream.id, receipts.add(amount)), (0, self._receipts.add(amount))):
            if due and not (id and stream.over):
                with contextlib.suppress(ConnectionError):
                    await self.send(spdy_frames.window_update(id, due))

    def forget_if_over(self, stream: SpdyStream) -> None:
        if stream.over:
            self._streams.pop(stream.id, None)
            self._room.set()

    async def _wait_for_room(self) -> None:
        while not self._closing and (self.held > _MAX_BUFFER or any(stream.full for stream in self._streams.values())):
            self._room.clear()
            await self._room.wait()

    async def _take(self, frame: spdy_frames.Frame) -> None:
        if isinstance(frame, spdy_frames.DataFrame):
            await self._data(frame)
        elif isinstance(frame, spdy_frames.SynStream):
            await self._open_stream(frame)
        elif isinstance(frame, spdy_frames.SynReply):
            self._receive(frame.stream, b"", frame.fin)
        elif isinstance(frame, spdy_frames.RstStream):
            self._reset(frame)
        elif isinstance(frame, spdy_frames.Ping):
            if frame.id % 2:  # even ids are those of a server, which sends no pings
                await self.send(spdy_frames.ping(frame.id))
        elif isinstance(frame, spdy_frames.Settings):
            self._settings(frame.values)
        elif isinstance(frame, spdy_frames.WindowUpdate):
            self._widen(frame)
        elif isinstance(frame, spdy_frames.GoAway):
            self._go_away()

    async def _data(self, frame: spdy_frames.DataFrame) -> None:
        if frame.stream in self._streams:
            self._receive(frame.stream, frame.data, frame.fin)
        elif frame.stream > self._last:
            await self.send(spdy_frames.rst_stream(frame.stream, spdy_frames.INVALID_STREAM))

    def _receive(self, id: int, data: bytes, fin: bool) -> None:
        if stream := self._streams.get(id):
            stream.receive(data, fin)
            self.forget_if_over(stream)

    async def _open_stream(self, frame: spdy_frames.SynStream) -> None:
        if self._closing:
            return
        if frame.stream <= self._last or not frame.stream % 2:
            await self.send(spdy_frames.rst_stream(frame.stream, spdy_frames.PROTOCOL_ERROR))
            return
        self._last = frame.stream
        if len(self._streams) >= _MAX_STREAMS or not self._admits(frame.headers):
            await self.send(spdy_frames.rst_stream(frame.stream, spdy_frames.REFUSED_STREAM))
            return
        stream = self._streams[frame.stream] = SpdyStream(self, frame.stream, frame.headers)
        stream.receive(b"", frame.fin)
        await self.send(self._encoder.reply(frame.stream, {}))
        self._opened.put_nowait(stream)

    def _reset(self, frame: spdy_frames.RstStream) -> None:
        if stream := self._streams.pop(frame.stream, None):
            stream.end(reset=True)
            self._room.set()

    def _settings(self, values: Mapping[int, int]) -> None:
        self._count()
        if (size := values.get(spdy_frames.INITIAL_WINDOW)) is not None:
            for stream in self._streams.values():
                stream.window.widen(size - self.initial_window)
            self.initial_window = size

    def _widen(self, frame: spdy_frames.WindowUpdate) -> None:
        self._count()
        if frame.stream == 0:
            self._window.widen(frame.delta)
        elif stream := self._streams.get(frame.stream):
            stream.window.widen(frame.delta)

    def _count(self) -> None:
        if not self.counts:
            self.counts = True
            for window in (self._window, *(stream.window for stream in self._streams.values())):
                window.count()

    def _go_away(self) -> None:
        """The peer opens no more streams. If none is open, it is about to disconnect."""
        self._opened.put_nowait(None)
        if not self._streams:
            self.gone.set()

    def _end(self) -> None:
        self.gone.set()
        self._window.release()
        for stream in self._streams.values():
            stream.end(reset=True)
        self._streams.clear()
        self._opened.put_nowait(None)


@contextlib.asynccontextmanager
async def serve(
    wire: ByteTransport, admits: Callable[[Mapping[str, str]], bool] = lambda headers: True
) -> AsyncIterator[SpdyConnection]:
    """Runs a connection. At the end waits for the peer to close it, for LINGER seconds at most."""
    connection = SpdyConnection(wire, admits)
    running, watching = asyncio.create_task(connection.run()), asyncio.create_task(connection.watch())
    try:
        yield connection
        # Data that the client still sends is read: data that meets a closed socket resets it, and the client loses unread output.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await connection.close()
                await running
    finally:
        running.cancel()
        watching.cancel()
        await asyncio.gather(running, watching, return_exceptions=True)
