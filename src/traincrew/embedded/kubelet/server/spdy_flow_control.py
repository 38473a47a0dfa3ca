"""How much may be sent before the receiver says more: the windows of SPDY/3.1's flow control."""

from __future__ import annotations

import asyncio

DEFAULT = 64 * 1024


class SendWindow:
    """Free until it is told to count: the peers that Kubernetes is made of (Go's spdystream) do no flow control at all.

    They rely on TCP and never send a WINDOW_UPDATE, so whoever waits for one waits for ever. What was sent is counted from the
    start, for a peer that turns out to keep windows after all.
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
        """The stream or the connection is over: whoever waits shall see that."""
        self._counts = False
        self._open.set()

    async def wait(self) -> None:
        await self._open.wait()

    def room(self, wanted: int) -> int:
        return min(wanted, max(self._size, 0)) if self._counts else wanted

    def take(self, amount: int) -> None:
        self._size -= amount
        self._set()

    def _set(self) -> None:
        if self._counts and self._size <= 0:
            self._open.clear()
        else:
            self._open.set()


class Receipts:
    """What was taken in and not yet acknowledged."""

    def __init__(self) -> None:
        self._taken = 0

    def add(self, amount: int) -> int:
        """How much to acknowledge now; 0 for nothing yet."""
        self._taken += amount
        if self._taken < DEFAULT // 2:
            return 0
        due, self._taken = self._taken, 0
        return due
