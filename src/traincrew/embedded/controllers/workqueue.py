"""Which objects to look at, and when: each by one worker at a time, failures with growing delays."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from traincrew import errors

log = logging.getLogger(__name__)

Key = tuple[str, str]
"""Namespace and name."""

FIRST_DELAY, LONGEST_DELAY = 0.05, 60.0
FEW = 20
LONGEST_GATHERING = 0.5
LONGEST_SLEEP = 60.0
"""A machine that slept has timers that did not run: nobody waits longer than this without looking at the clock again."""


class Work:
    def __init__(self, name: str, look: Callable[[Key], Awaitable[float | None]]) -> None:
        """look: does what is due and returns in how many seconds to look again; None: when something changes."""
        self._name, self._look = name, look
        self._ready: asyncio.Queue[Key] = asyncio.Queue()
        self._queued: set[Key] = set()
        self._busy: set[Key] = set()
        self._again: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}

    def add(self, key: Key) -> None:
        """A key that is being worked on comes back when that is done."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.put_nowait(key)

    def add_of_many(self, key: Key, others: int) -> None:
        """After a change to one of many that the key stands for: the more there are, the more changes are taken together."""
        if others < FEW:
            self.add(key)
        else:
            self.add_after(key, min(others / 1000, LONGEST_GATHERING))

    def add_after(self, key: Key, seconds: float) -> None:
        """The earlier of two moments for the same key holds."""
        loop = asyncio.get_running_loop()
        moment = loop.time() + min(max(seconds, 0.0), LONGEST_SLEEP)
        known = self._timers.get(key)
        if known is None or moment < known.when():
            if known is not None:
                known.cancel()
            self._timers[key] = loop.call_at(moment, self._ring, key)

    def _ring(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    async def run(self, workers: int = 4) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work())
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def _work(self) -> None:
        while True:
            key = await self._ready.get()
            self._queued.discard(key)
            self._busy.add(key)
            try:
                await self._one(key)
            finally:
                self._busy.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)
            await asyncio.sleep(0)  # where nothing was to be done, nothing was waited for: others want their turn

    async def _one(self, key: Key) -> None:
        try:
            seconds = await self._look(key)
        except (errors.Conflict, errors.NotFound):
            self._failed(key)  # the watch tells what it is now; looked at again in case it has told already
        except errors.ApiError as error:
            delay = self._failed(key)
            extra = {"controller": self._name, "object": "/".join(key), "error": str(error), "retry_in": round(delay, 3)}
            log.warning("controller failed", extra=extra)
        except Exception:
            self._failed(key)
            log.exception("controller failed", extra={"controller": self._name, "object": "/".join(key)})
        else:
            self._failures.pop(key, None)
            if seconds is not None:
                self.add_after(key, seconds)

    def _failed(self, key: Key) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay: float = min(FIRST_DELAY * 2.0 ** min(failures, 20), LONGEST_DELAY)
        self.add_after(key, delay)
        return delay
