"""The event loop of shims: an exception in a handler does not end the work of the handler."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from traincrew.embedded.kubelet.runtime.event_loop import EventLoop


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    """`on_child` changes the signal handling of the process."""
    former = signal.getsignal(signal.SIGCHLD)
    try:
        yield EventLoop()
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, former)


def test_children_are_reaped_after_an_exception_of_the_handler(loop: EventLoop) -> None:
    reaped: list[int] = []

    def reap() -> None:
        reaped.append(os.waitpid(-1, os.WNOHANG)[0])
        if len(reaped) == 1:
            later.append(_child())
            raise ValueError("a malformed message")
        loop.running = not set(later) <= set(reaped)

    loop.on_child(reap)
    later = [_child()]
    loop.run()
    assert set(later) <= set(reaped)


def test_a_handler_that_raises_is_called_again_until_it_is_done(loop: EventLoop) -> None:
    calls: list[int] = []

    def handle() -> None:
        calls.append(len(calls))
        if len(calls) < 3:
            raise OSError("no descriptor is free")
        loop.running = False

    loop.call_until_done(handle)
    loop.run()
    assert calls == [0, 1, 2]


def _child() -> int:
    """A process that ends at once. Not waited for."""
    process = subprocess.Popen(["true"])
    process.returncode = 0  # the test reaps it
    return process.pid
