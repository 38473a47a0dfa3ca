"""One stream of a SPDY connection."""

from __future__ import annotations

import asyncio
import collections
from typing import TYPE_CHECKING

from traincrew.embedded.kubelet.server import spdy_flow_control, spdy_frames

if TYPE_CHECKING:
    from traincrew.embedded.kubelet.server.spdy_connection import SpdyConnection

_MAX_BUFFER = 256 * 1024
"""Bytes that one stream may buffer before the connection is no longer read."""
_PIECE = 64 * 1024


class StreamGone(ConnectionError):
    """The stream was reset, or its connection is closed."""


class SpdyStream:
    def __init__(self, connection: SpdyConnection, id: int, headers: dict[str, str]) -> None:
        self.id, self.headers = id, headers
        self.window = spdy_flow_control.SendWindow(connection.initial_window, connection.counts)
        self.was_reset = False
        self.sent_all = False
        self.got_all = False
        self._connection = connection
        self._pieces: collections.deque[bytes] = collections.deque()
        self._buffered = 0
        self._readable = asyncio.Event()
        self._receipts = spdy_flow_control.Receipts()

    @property
    def full(self) -> bool:
        return self._buffered > _MAX_BUFFER

    @property
    def over(self) -> bool:
        return self.was_reset or (self.sent_all and self.got_all)

    async def read(self, n: int = -1, /) -> bytes:
        """The next data of any size; b"" at the end of the stream or after a reset."""
        while not self._pieces:
            if self.got_all or self.was_reset:
                return b""
            self._readable.clear()
            await self._readable.wait()
        piece = self._pieces.popleft()
        self._buffered -= len(piece)
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
        """Closes the sending side."""
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
            self._buffered += len(data)
            self._connection.held += len(data)
        if fin:
            self.got_all = True
        self._readable.set()

    def end(self, reset: bool) -> None:
        """Closes the receiving side; after a reset the sending side, too."""
        self.got_all = True
        self.was_reset = self.was_reset or reset
        self.window.release()
        self._readable.set()
