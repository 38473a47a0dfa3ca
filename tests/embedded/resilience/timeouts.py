"""Time limits for computations and conditions that may never end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


class Hang(BaseException):
    """Not an Exception: no handler on the way may turn it into a response."""


@contextlib.contextmanager
def limit(seconds: float, what: str) -> Iterator[None]:
    """Interrupts the process, whether it computes or waits."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Hang(f"{what}: not finished after {seconds:.0f} s")

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
    raise TimeoutError(f"{what} not seen within {seconds:.0f} s")
