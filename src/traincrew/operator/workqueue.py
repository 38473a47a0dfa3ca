"""Which jobs to look at, and when: each at most once at a time, failures with growing delays."""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import deque

from traincrew.operator.keys import Key

LONGEST_SLEEP = 60.0
"""A laptop that slept has timers that did not run: nothing waits longer than this without looking at the clock again."""
FIRST_DELAY, LONGEST_DELAY = 0.05, 60.0


class WorkQueue:
    """A key that is added while it is being worked on comes back when that is done."""

    def __init__(self) -> None:
        self._ready: deque[Key] = deque()
        self._queued: set[Key] = set()
        self._busy: set[Key] = set()
        self._again: set[Key] = set()
        self._timers: list[tuple[float, int, Key]] = []
        self._due: dict[Key, float] = {}
        self._count = 0
        self._failures: dict[Key, int] = {}
        self._wake = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: Key) -> None:
        if key in self._busy:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.append(key)
            self._wake.set()

    def add_after(self, key: Key, seconds: float) -> None:
        """The earlier of two moments for the same key holds."""
        moment = asyncio.get_running_loop().time() + min(max(seconds, 0.0), LONGEST_SLEEP)
        known = self._due.get(key)
        if known is None or moment < known:
            self._due[key] = moment
            self._count += 1
            heapq.heappush(self._timers, (moment, self._count, key))
            self._wake.set()

    def failed(self, key: Key) -> float:
        """Puts a key back after a failure; the delay doubles with each in a row."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(FIRST_DELAY * 2.0 ** min(failures, 20), LONGEST_DELAY) * random.uniform(0.8, 1.2)
        self.add_after(key, delay)
        return delay

    def succeeded(self, key: Key) -> None:
        self._failures.pop(key, None)

    def forget(self, key: Key) -> None:
        self._failures.pop(key, None)
        self._due.pop(key, None)

    async def take(self) -> Key | None:
        """The next key, marked busy until `done`; None once the queue is closed."""
        while not self._closed:
            self._release_timers()
            if self._ready:
                key = self._ready.popleft()
                self._queued.discard(key)
                self._busy.add(key)
                return key
            await self._sleep()
        return None

    def done(self, key: Key) -> None:
        self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    def _release_timers(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._timers and self._timers[0][0] <= now:
            moment, _, key = heapq.heappop(self._timers)
            if self._due.get(key) == moment:
                del self._due[key]
                self.add(key)

    async def _sleep(self) -> None:
        self._wake.clear()
        timeout = max(self._timers[0][0] - asyncio.get_running_loop().time(), 0) if self._timers else None
        try:
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            return
        if not self._ready and not self._timers:
            return
        self._wake.set()  # others may be waiting for the same news
