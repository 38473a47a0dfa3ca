"""An end to what would never end by itself."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


class Hung(BaseException):
    """Not an Exception: nobody on the way may take it for a fault that can be answered."""


@contextlib.contextmanager
def limit(seconds: float, what: str) -> Iterator[None]:
    """Interrupts whatever the process is doing, be it a computation or a wait."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Hung(f"no end after {seconds:.0f} s: {what}")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


async def until(met: Callable[[], object], what: str, seconds: float = 120) -> None:
    """Waits for a condition."""
    for _ in range(int(seconds / 0.01)):
        if met():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError(f"{what} did not come in {seconds:.0f} s")
