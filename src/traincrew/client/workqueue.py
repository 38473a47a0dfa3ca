"""A rate limited, delaying work queue, as client-go's: a key is processed by one worker at a time."""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from traincrew.apimachinery import backoff

K = TypeVar("K", bound=Hashable)

MAX_TIMER = 60.0
"""Seconds. Timers of a machine that was suspended are late: a longer delay is checked against the clock once a minute."""
BASE_DELAY, MAX_DELAY = 0.05, 60.0


class WorkQueue(Generic[K]):
    """Keys in the order in which they were added; duplicates are merged.

    A key that is added while a worker processes it is queued again when that worker calls `done`.
    """

    def __init__(self) -> None:
        self._queue: deque[K] = deque()
        self._queued: set[K] = set()
        self._processing: set[K] = set()
        self._dirty: set[K] = set()
        """Added while being processed."""
        self._timers: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._sequence = 0
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._alarm: tuple[float, asyncio.Handle] | None = None
        self._shut_down = False

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, key: K) -> None:
        if key in self._processing:
            self._dirty.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._queue.append(key)
            self._wake_one()

    def add_after(self, key: K, seconds: float) -> None:
        """Adds a key when that time has passed. Of two delays for the same key the earlier end counts."""
        if seconds <= 0:
            self.add(key)
            return
        due = asyncio.get_running_loop().time() + min(seconds, MAX_TIMER)
        known = self._due.get(key)
        if known is None or due < known:
            self._due[key] = due
            self._sequence += 1
            heapq.heappush(self._timers, (due, self._sequence, key))
            self._set_alarm()

    def add_rate_limited(self, key: K, at_least: float = 0.0) -> float:
        """Adds a key again after a failure and returns the delay: it doubles with each failure until `forget`."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = backoff.exponential_delay(failures, BASE_DELAY, MAX_DELAY) * random.uniform(0.8, 1.2)
        delay = max(delay, at_least)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """Resets the rate limit of a key."""
        self._failures.pop(key, None)

    async def get(self) -> K | None:
        """The next key; the caller must call `done` with it. None once the queue is shut down."""
        while not self._shut_down:
            if self._queue:
                key = self._queue.popleft()
                self._queued.discard(key)
                self._processing.add(key)
                return key
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        return None

    def done(self, key: K) -> None:
        self._processing.discard(key)
        if key in self._dirty:
            self._dirty.discard(key)
            self.add(key)

    def shut_down(self) -> None:
        """Ends every `get`, also those of later callers."""
        self._shut_down = True
        if self._alarm is not None:
            self._alarm[1].cancel()
        while self._waiters:
            self._wake_one()

    def _wake_one(self) -> None:
        """Wakes one worker for one key: waking all of them costs more than most of the work."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _set_alarm(self) -> None:
        due = self._timers[0][0]
        if self._alarm is not None:
            if self._alarm[0] <= due:
                return
            self._alarm[1].cancel()
        # The time is kept beside the handle: uvloop's handles have no `when`.
        self._alarm = (due, asyncio.get_running_loop().call_at(due, self._add_due))

    def _add_due(self) -> None:
        self._alarm = None
        now = asyncio.get_running_loop().time()
        while self._timers and self._timers[0][0] <= now:
            due, _, key = heapq.heappop(self._timers)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        if self._timers:
            self._set_alarm()
