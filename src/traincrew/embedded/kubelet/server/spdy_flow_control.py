"""Flow control of SPDY/3.1: the windows that limit how much may be sent."""

from __future__ import annotations

import asyncio

DEFAULT = 64 * 1024


class SendWindow:
    """Unlimited until `count` is called, because the peers in Kubernetes (Go's spdystream) use no flow control.

    They rely on TCP and never send a WINDOW_UPDATE, so waiting for one would never end. Sent bytes are counted from the start,
    in case the peer uses flow control after all.
    """

    def __init__(self, size: int = DEFAULT, counts: bool = False) -> None:
        self._size, self._counts = size, counts
        self._open = asyncio.Event()
        self._open.set()

    def count(self) -> None:
        self._counts = True
        self._set()

    def widen(self, delta: int) -> None:
        self._size += delta
        self._set()

    def release(self) -> None:
        """Wakes all waiters, because the stream or the connection is closed."""
        self._counts = False
        self._open.set()

    async def wait(self) -> None:
        await self._open.wait()

    def room(self, size: int) -> int:
        return min(size, max(self._size, 0)) if self._counts else size

    def take(self, amount: int) -> None:
        self._size -= amount
        self._set()

    def _set(self) -> None:
        if self._counts and self._size <= 0:
            self._open.clear()
        else:
            self._open.set()


class Receipts:
    """Counts received bytes that are not yet acknowledged."""

    def __init__(self) -> None:
        self._received = 0

    def add(self, amount: int) -> int:
        """The number of bytes to acknowledge now; 0: none yet."""
        self._received += amount
        if self._received < DEFAULT // 2:
            return 0
        due, self._received = self._received, 0
        return due
