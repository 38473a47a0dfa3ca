"""Waiting for many descriptors in one thread: what the shim runs on."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable

READ = select.POLLIN
WRITE = select.POLLOUT


class EventLoop:
    def __init__(self) -> None:
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], object]] = {}
        self._timers: dict[Callable[[], None], float] = {}
        self.running = True

    def watch(self, fd: int, events: int, handler: Callable[[], object]) -> None:
        """Once a descriptor, again to change it. The other side's end calls the handler as well: it reads or writes and sees."""
        self._handlers[fd] = handler
        self._poll.register(fd, events)

    def forget(self, fd: int) -> None:
        if self._handlers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def later(self, seconds: float, handler: Callable[[], None]) -> None:
        """Asked again, the earlier moment counts."""
        moment = time.monotonic() + seconds
        self._timers[handler] = min(moment, self._timers.get(handler, moment))

    def on_child(self, handler: Callable[[], None]) -> None:
        woken, waking = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

        def drained() -> None:
            os.read(woken, 4096)
            handler()

        self.watch(woken, READ, drained)

    def run(self) -> None:
        while self.running:
            for fd, _ in self._poll.poll(self._pause()):
                # One handler may have closed what another descriptor of the same round stands for.
                if handler := self._handlers.get(fd):
                    self._guarded(handler, fd)
            self._ring()

    def _guarded(self, handler: Callable[[], object], fd: int = -1) -> None:
        """A fault in one conversation is not the end of the pod."""
        try:
            handler()
        except Exception:
            sys.excepthook(*sys.exc_info())
            self.forget(fd)

    def _pause(self) -> float | None:
        if not self._timers:
            return None
        return max(0.0, (min(self._timers.values()) - time.monotonic()) * 1000 + 1)

    def _ring(self) -> None:
        now = time.monotonic()
        for handler in [each for each, moment in self._timers.items() if moment <= now]:
            del self._timers[handler]
            self._guarded(handler)
