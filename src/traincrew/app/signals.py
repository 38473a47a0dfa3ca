"""Stop signals. The first one counts: later ones do not change how the process ends.

Not `loop.add_signal_handler`: a loop that ends restores the default of each signal, and a signal that arrives before another
handler is set would end the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from types import FrameType

STOP = (signal.SIGTERM, signal.SIGINT)

_handled: set[signal.Signals] = set()
_received: set[signal.Signals] = set()


def listen(callback: Callable[[], None], *numbers: signal.Signals) -> None:
    """Calls the callback in the running loop. The handlers outlive the loop; then they do nothing."""
    loop = asyncio.get_running_loop()

    def receive(number: int, _frame: FrameType | None) -> None:
        _received.add(signal.Signals(number))
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(callback)

    _wake_up_on_signals(loop)
    for number in numbers:
        signal.signal(number, receive)
    _handled.update(numbers)


def _wake_up_on_signals(loop: asyncio.AbstractEventLoop) -> None:
    """Python runs handlers in the main thread, which may wait for events while another thread gets the signal."""
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    previous = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    if previous != -1:  # of uvloop, or of an earlier call
        signal.set_wakeup_fd(previous, warn_on_full_buffer=False)
        reading.close()
        writing.close()
        return
    loop.add_reader(reading, reading.recv, 4096)
    _wakeup_sockets.append(writing)


_wakeup_sockets: list[socket.socket] = []
"""Open as long as the process: a signal may arrive at any time."""


def ignore() -> None:
    """At the very end: Python removes its handlers before the process ends. No child may be started after this."""
    for number in _handled if _received else ():
        signal.signal(number, signal.SIG_IGN)
