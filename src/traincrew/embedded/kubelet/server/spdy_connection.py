"""A SPDY/3.1 connection, as Kubernetes uses it: streams that clients open, bytes both ways.

Back-pressure is that of the wire below: a stream whose reader does not keep up stops the reading of the whole connection, as in
Go's spdystream; toward a peer that announces windows (a SETTINGS or a WINDOW_UPDATE frame), SPDY's own flow control works too.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

from traincrew.embedded.kubelet.server import spdy_flow_control, spdy_frames
from traincrew.embedded.kubelet.server.transports import Transport

_ENOUGH, _ENOUGH_OF_ALL = 256 * 1024, 8 * 1024 * 1024
"""Bytes of one stream, and of all, that wait for their readers before the connection is read no further."""
_PIECE = 64 * 1024
_MOST_STREAMS = 2000
LINGER = 5.0
"""Seconds that the other end has to close, after we have."""


class StreamGone(ConnectionError):
    """The stream was reset, or its connection is over."""


class SpdyStream:
    def __init__(self, connection: SpdyConnection, id: int, headers: dict[str, str]) -> None:
        self.id, self.headers = id, headers
        self.window = spdy_flow_control.SendWindow(connection.initial_window, connection.counts)
        self.was_reset = False
        self.sent_all = False
        self.got_all = False
        self._connection = connection
        self._pieces: collections.deque[bytes] = collections.deque()
        self._held = 0
        self._news = asyncio.Event()
        self._receipts = spdy_flow_control.Receipts()

    @property
    def full(self) -> bool:
        return self._held > _ENOUGH

    @property
    def over(self) -> bool:
        return self.was_reset or (self.sent_all and self.got_all)

    async def read(self, n: int = -1, /) -> bytes:
        """The next piece, whatever its size; b"" at the end, however that came about."""
        while not self._pieces:
            if self.got_all or self.was_reset:
                return b""
            self._news.clear()
            await self._news.wait()
        piece = self._pieces.popleft()
        self._held -= len(piece)
        self._connection.held -= len(piece)
        await self._connection.taken(self, len(piece), self._receipts)
        return piece

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            amount = await self._connection.allowance(self, min(len(rest), _PIECE))
            await self._connection.send(spdy_frames.data(self.id, rest[:amount]))
            rest = rest[amount:]

    async def finish(self) -> None:
        """Nothing more will be written."""
        if not self.sent_all and not self.was_reset:
            self.sent_all = True
            await self._connection.send(spdy_frames.data(self.id, b"", fin=True))
            self._connection.forget_if_over(self)

    async def reset(self, status: int = spdy_frames.CANCEL) -> None:
        if not self.over:
            self.end(reset=True)
            self._connection.forget_if_over(self)
            await self._connection.send(spdy_frames.rst_stream(self.id, status))

    def receive(self, data: bytes, fin: bool) -> None:
        if data and not self.got_all:
            self._pieces.append(data)
            self._held += len(data)
            self._connection.held += len(data)
        if fin:
            self.got_all = True
        self._news.set()

    def end(self, reset: bool) -> None:
        """No more comes in; after a reset nothing goes out either."""
        self.got_all = True
        self.was_reset = self.was_reset or reset
        self.window.release()
        self._news.set()


class SpdyConnection:
    """`run` must be under way for anything to happen."""

    def __init__(self, wire: Transport, admits: Callable[[Mapping[str, str]], bool] = lambda headers: True) -> None:
        self.gone = asyncio.Event()
        """The other end is away, or has said that it is about to be."""
        self.initial_window = spdy_flow_control.DEFAULT
        self.counts = False
        """The peer keeps windows."""
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
        await self._wire.hung_up()
        self._end()

    async def accept(self) -> SpdyStream | None:
        """The next stream that the client opens; None when there will be none."""
        return await self._opened.get()

    async def open(self, headers: Mapping[str, str]) -> SpdyStream:
        """As a client."""
        stream = SpdyStream(self, self._next, dict(headers))
        self._next += 2
        self._streams[stream.id] = stream
        await self.send(self._encoder.open(stream.id, headers))
        return stream

    async def close(self) -> None:
        """Tells the other end, and leaves the rest to it; `run` goes on until that has closed."""
        self._closing = True
        self._room.set()
        with contextlib.suppress(ConnectionError):
            for stream in list(self._streams.values()):
                await stream.reset()
            await self.send(spdy_frames.go_away(max(self._last, 0)))

    async def send(self, frame: bytes) -> None:
        await self._wire.write(frame)

    async def allowance(self, stream: SpdyStream, wanted: int) -> int:
        """How much of that may be sent now, at least one byte; it is taken from the windows."""
        while True:
            if stream.was_reset or stream.sent_all or self.gone.is_set():
                raise StreamGone(f"stream {stream.id} is closed")
            if amount := self._window.room(stream.window.room(wanted)):
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
        while not self._closing and (self.held > _ENOUGH_OF_ALL or any(stream.full for stream in self._streams.values())):
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
            if frame.id % 2:  # even numbers are ours, and we send none
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
        if len(self._streams) >= _MOST_STREAMS or not self._admits(frame.headers):
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
        """The other end opens no more streams; with none open, it is about to go."""
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
    wire: Transport, admits: Callable[[Mapping[str, str]], bool] = lambda headers: True
) -> AsyncIterator[SpdyConnection]:
    """A connection at work; at the end it is closed, once the other end has done so too or was given time enough."""
    connection = SpdyConnection(wire, admits)
    running, watching = asyncio.create_task(connection.run()), asyncio.create_task(connection.watch())
    try:
        yield connection
        # Bytes that the client still sends are read, for if they met a closed socket, what it has not read yet would be lost.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await connection.close()
                await running
    finally:
        running.cancel()
        watching.cancel()
        await asyncio.gather(running, watching, return_exceptions=True)
