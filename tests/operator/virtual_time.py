"""An event loop in virtual time: when nothing else is left to do its clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

P = ParamSpec("P")

THREAD_POLL = 0.001


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now = 0.0
        self._executor_calls = 0
        self.busy_threads: list[Callable[[], bool]] = []
        """Whether other threads are busy. Time stands still until they are done."""
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        # At least one tick: below the resolution of floats a timer would never become due.
        self._now += max(seconds, 1e-6)

    def waits_for_threads(self) -> bool:
        return self._executor_calls > 0 or any(busy() for busy in self.busy_threads)

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override] # typeshed is generic here
        self._executor_calls += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._executor_call_done)
        return future

    async def shutdown_default_executor(self) -> None:
        self._executor_calls += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self._executor_calls -= 1

    def _executor_call_done(self, _future: object) -> None:
        self._executor_calls -= 1


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        while True:
            waits = self._loop.waits_for_threads()
            events = super().select(THREAD_POLL if waits and timeout != 0 else 0)
            if events or timeout == 0:
                return events
            if not waits:
                if timeout is None:
                    raise RuntimeError("deadlock: all tasks wait, and no timer is set")
                self._loop.advance(timeout)
                return []


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs an async test in a virtual-time loop."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run
