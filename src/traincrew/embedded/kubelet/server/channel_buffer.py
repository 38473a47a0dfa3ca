"""A bounded buffer between a channel of a WebSocket and a connection in the pod."""

from __future__ import annotations

import asyncio
import collections


class ChannelBuffer:
    """Keeps the data of one channel in order, also while its connection is not made yet."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._pieces: collections.deque[bytes] = collections.deque()
        self._discarding = False
        self._readable, self._writable, self._empty = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._set()

    async def put(self, data: bytes) -> None:
        """Waits while the buffer holds `limit` bytes or more."""
        await self._writable.wait()
        if data and not self._discarding:
            self._pieces.append(data)
            self._size += len(data)
            self._set()

    async def get(self) -> bytes:
        await self._readable.wait()
        piece = self._pieces.popleft()
        self._size -= len(piece)
        self._set()
        return piece

    async def drained(self) -> None:
        """Returns when all data has been taken or discarded."""
        await self._empty.wait()

    def discard(self) -> None:
        """Nobody takes the data any more. Neither it nor further data makes `put` wait."""
        self._discarding = True
        self._pieces.clear()
        self._size = 0
        self._set()

    def _set(self) -> None:
        for event, state in (
            (self._readable, bool(self._pieces)),
            (self._writable, self._size < self._limit),
            (self._empty, not self._pieces),
        ):
            event.set() if state else event.clear()
