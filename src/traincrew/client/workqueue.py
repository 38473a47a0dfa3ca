"""Which jobs to look at, and when: each at most once at a time, failures with growing delays."""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import deque

from traincrew.client.object_keys import Key

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
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._alarm: tuple[float, asyncio.Handle] | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: Key) -> None:
        if key in self._busy:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.append(key)
            self._wake_one()

    def add_after(self, key: Key, seconds: float) -> None:
        """The earlier of two moments for the same key holds."""
        moment = asyncio.get_running_loop().time() + min(max(seconds, 0.0), LONGEST_SLEEP)
        known = self._due.get(key)
        if known is None or moment < known:
            self._due[key] = moment
            self._count += 1
            heapq.heappush(self._timers, (moment, self._count, key))
            self._set_alarm()

    def failed(self, key: Key, at_least: float = 0.0) -> float:
        """Puts a key back after a failure; the delay doubles with each in a row, and is never less than was asked for."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(FIRST_DELAY * 2.0 ** min(failures, 20), LONGEST_DELAY) * random.uniform(0.8, 1.2)
        delay = max(delay, at_least)
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
            if self._ready:
                key = self._ready.popleft()
                self._queued.discard(key)
                self._busy.add(key)
                return key
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        return None

    def done(self, key: Key) -> None:
        self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def close(self) -> None:
        self._closed = True
        while self._waiters:
            self._wake_one()

    def _wake_one(self) -> None:
        """One worker a key: waking all of them would cost more than most of the work."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _set_alarm(self) -> None:
        moment = self._timers[0][0]
        if self._alarm is not None:
            if self._alarm[0] <= moment:
                return
            self._alarm[1].cancel()
        # The moment is kept beside the handle: not every event loop's handles tell theirs.
        self._alarm = (moment, asyncio.get_running_loop().call_at(moment, self._ring))

    def _ring(self) -> None:
        self._alarm = None
        now = asyncio.get_running_loop().time()
        while self._timers and self._timers[0][0] <= now:
            moment, _, key = heapq.heappop(self._timers)
            if self._due.get(key) == moment:
                del self._due[key]
                self.add(key)
        if self._timers:
            self._set_alarm()
