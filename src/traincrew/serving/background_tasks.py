"""Tasks that run until their component ends. One that fails is logged: no one awaits it before."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from typing import Any

log = logging.getLogger(__name__)


def start(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """The caller cancels the task."""
    task = asyncio.create_task(work, name=getattr(work, "__qualname__", None))
    task.add_done_callback(_log_failure)
    return task


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
