"""Stop signals. The first one counts: later ones do not change how the process ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from types import FrameType

STOP = (signal.SIGTERM, signal.SIGINT)

_handled: set[signal.Signals] = set()
_received: set[signal.Signals] = set()


def listen(callback: Callable[[], None], *numbers: signal.Signals) -> None:
    """Calls the callback in the running loop."""
    loop = asyncio.get_running_loop()
    for number in numbers:
        loop.add_signal_handler(number, _receive, number, callback)
    _handled.update(numbers)


def _receive(number: signal.Signals, callback: Callable[[], None]) -> None:
    _received.add(number)
    callback()


async def until_done(work: Awaitable[None]) -> None:
    """A loop's handlers end with the loop; others replace them, so that the next signal does not end the process."""
    try:
        await work
    finally:
        if _received:
            _replace_handlers(asyncio.get_running_loop())


def _replace_handlers(loop: asyncio.AbstractEventLoop) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _handled)
    for number in _handled:
        loop.remove_signal_handler(number)
        signal.signal(number, _do_nothing)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _handled)


def ignore() -> None:
    """At the very end: Python removes its handlers before the process ends. No child may be started after this."""
    for number in _handled if _received else ():
        signal.signal(number, signal.SIG_IGN)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Not SIG_IGN, which children would inherit."""
