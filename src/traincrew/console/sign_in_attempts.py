"""Limits how often the credentials that users send are tried at the API server."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import math
import time
from collections.abc import AsyncIterator, Callable

from traincrew.console.view import problems

MAX_FAILURES = 20
"""Of one address within a minute."""
WINDOW_SECONDS = 60.0
MAX_ADDRESSES = 10_000
AT_ONCE = 8
"""Sign-ins that are tried at the same time. Others wait."""


class SignInAttempts:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: collections.OrderedDict[str, collections.deque[float]] = collections.OrderedDict()
        self._slots = asyncio.Semaphore(AT_ONCE)

    @contextlib.asynccontextmanager
    async def attempt(self, address: str) -> AsyncIterator[None]:
        """One attempt; an exception is a failure. Raise Problem if the address has failed too often."""
        self._require_few(address)
        async with self._slots:
            self._require_few(address)
            try:
                yield
            except Exception:
                self._fail(address)
                raise

    def _require_few(self, address: str) -> None:
        failures, now = self._failures.get(address, collections.deque[float]()), self._clock()
        while failures and now - failures[0] > WINDOW_SECONDS:
            failures.popleft()
        if len(failures) >= MAX_FAILURES:
            seconds = math.ceil(WINDOW_SECONDS - (now - failures[0]))
            message = f"{len(failures)} sign-ins from {address} have failed within a minute"
            raise problems.problem("TooManyRequests", 429, "sign in", message, f"Try again in {seconds} seconds.")

    def _fail(self, address: str) -> None:
        self._failures.setdefault(address, collections.deque(maxlen=MAX_FAILURES)).append(self._clock())
        self._failures.move_to_end(address)
        while len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)
