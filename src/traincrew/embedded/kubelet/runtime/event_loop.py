"""A single-threaded poll loop. asyncio would cost every shim megabytes."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable

READ = select.POLLIN
WRITE = select.POLLOUT
_RETRY_SECONDS = 1.0


class EventLoop:
    def __init__(self) -> None:
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], object]] = {}
        self._timers: dict[Callable[[], None], float] = {}
        self.running = True

    def watch(self, fd: int, events: int, handler: Callable[[], object]) -> None:
        """Registers a descriptor, or changes its registration. A hang-up calls the handler too."""
        self._handlers[fd] = handler
        self._poll.register(fd, events)

    def unwatch(self, fd: int) -> None:
        if self._handlers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def call_later(self, seconds: float, handler: Callable[[], None]) -> None:
        """Calls the handler once. Of several calls for one handler the earliest time counts."""
        moment = time.monotonic() + seconds
        self._timers[handler] = min(moment, self._timers.get(handler, moment))

    def call_until_done(self, handler: Callable[[], None]) -> None:
        """Calls the handler now, and again every second while it raises: its work must not be left undone."""
        try:
            handler()
        except Exception:
            sys.excepthook(*sys.exc_info())
            self.call_later(_RETRY_SECONDS, lambda: self.call_until_done(handler))

    def on_child(self, handler: Callable[[], None]) -> None:
        woken, waking = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

        def on_signal() -> None:
            os.read(woken, 4096)
            self.call_until_done(handler)

        self.watch(woken, READ, on_signal)

    def run(self) -> None:
        while self.running:
            for fd, _ in self._poll.poll(self._poll_timeout()):
                # An earlier handler of this round may have closed this descriptor.
                if handler := self._handlers.get(fd):
                    self._call(handler, fd)
            self._run_timers()

    def _call(self, handler: Callable[[], object], fd: int = -1) -> None:
        """An exception in one handler must not end the shim."""
        try:
            handler()
        except Exception:
            sys.excepthook(*sys.exc_info())
            self.unwatch(fd)

    def _poll_timeout(self) -> float | None:
        if not self._timers:
            return None
        return max(0.0, (min(self._timers.values()) - time.monotonic()) * 1000 + 1)

    def _run_timers(self) -> None:
        now = time.monotonic()
        for handler in [each for each, moment in self._timers.items() if moment <= now]:
            del self._timers[handler]
            self._call(handler)
