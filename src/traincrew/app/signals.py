"""Being told to stop. Once is enough: whoever tells us again, however late, changes nothing of how we end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from types import FrameType

STOP = (signal.SIGTERM, signal.SIGINT)

_awaited: set[signal.Signals] = set()
_told: set[signal.Signals] = set()


def listen(told: Callable[[], None], *numbers: signal.Signals) -> None:
    """Within the running loop."""
    loop = asyncio.get_running_loop()
    for number in numbers:
        loop.add_signal_handler(number, _hear, number, told)
    _awaited.update(numbers)


def _hear(number: signal.Signals, told: Callable[[], None]) -> None:
    _told.add(number)
    told()


async def until_done(work: Awaitable[None]) -> None:
    """The handlers of a loop leave with it, and the next signal would end the process by its default: so others take over."""
    try:
        await work
    finally:
        if _told:
            _take_over(asyncio.get_running_loop())


def _take_over(loop: asyncio.AbstractEventLoop) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _awaited)
    for number in _awaited:
        loop.remove_signal_handler(number)
        signal.signal(number, _nothing)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _awaited)


def deafen() -> None:
    """At the very end: Python takes its own handlers away before the process is gone. No child may be started any more."""
    for number in _awaited if _told else ():
        signal.signal(number, signal.SIG_IGN)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """A child gets the default again."""
