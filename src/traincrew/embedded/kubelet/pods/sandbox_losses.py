"""Sandboxes whose loss is not reported yet. Exits in other pods, which may be consequences of it, are reported after it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

LONGEST_DELAY = 5.0
"""Seconds. A sandbox of which something lives is not reported as lost, and must not keep the exits of others back."""


class SandboxLosses:
    def __init__(self) -> None:
        self._pending = 0
        self._none = asyncio.Event()
        self._none.set()

    @contextlib.contextmanager
    def pending(self) -> Iterator[None]:
        """While a loss is examined, cleaned up and reported."""
        self._pending += 1
        self._none.clear()
        try:
            yield
        finally:
            self._pending -= 1
            if not self._pending:
                self._none.set()

    async def reported(self) -> None:
        """Returns when no loss is pending."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_DELAY):
                await self._none.wait()
