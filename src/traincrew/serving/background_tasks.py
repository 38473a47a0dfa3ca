"""Tasks that run until their component ends. One that fails is logged: no one awaits it before. Some are run again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from traincrew.apimachinery import backoff

log = logging.getLogger(__name__)

FIRST_DELAY, LONGEST_DELAY = 0.2, 60.0
"""Seconds before a failed task runs again. After a run that was longer than the longest delay, the first one applies again."""


def start(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """The caller cancels the task."""
    task = asyncio.create_task(work, name=getattr(work, "__qualname__", None))
    task.add_done_callback(_log_failure)
    return task


async def keep_running(name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs it until cancelled: after a failure again, with a back-off."""
    clock, failures = asyncio.get_running_loop().time, 0
    while True:
        started = clock()
        try:
            return await run()
        except Exception as error:
            failures = 1 if clock() - started > LONGEST_DELAY else failures + 1
            delay = backoff.exponential_delay(failures, FIRST_DELAY, LONGEST_DELAY)
            log.error("task failed", extra={"task": name, "retry_in": delay}, exc_info=error)
        await asyncio.sleep(delay)


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Waits until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def running(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs them inside the block."""
    tasks = [start(work) for work in works]
    try:
        yield
    finally:
        await cancel(*tasks)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("background task failed", extra={"task": task.get_name()}, exc_info=error)
