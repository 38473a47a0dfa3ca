"""The workers of a controller: they take keys from its work queue and reconcile them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from traincrew import errors
from traincrew.client.workqueue import WorkQueue

log = logging.getLogger(__name__)

NamespacedName = tuple[str, str]
K = TypeVar("K", str, NamespacedName)

SMALL_GROUP = 20
MAX_BATCH_PERIOD = 0.5


def batch_period(siblings: int) -> float:
    """Seconds to wait after a change to one of the sibling pods: with more pods, more changes are reconciled together."""
    return 0.0 if siblings < SMALL_GROUP else min(siblings / 1000, MAX_BATCH_PERIOD)


async def run(name: str, queue: WorkQueue[K], reconcile: Callable[[K], Awaitable[float | None]], workers: int = 4) -> None:
    """Runs until cancelled; it may run again with the same queue. `reconcile` returns the seconds after which to reconcile the
    key again; None: after a change."""
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(_work(name, queue, reconcile))


async def _work(name: str, queue: WorkQueue[K], reconcile: Callable[[K], Awaitable[float | None]]) -> None:
    while (key := await queue.get()) is not None:
        try:
            requeue_after = await reconcile(key)
        except Exception as error:
            _log_failure(name, key, error, queue.add_rate_limited(key))
        else:
            queue.forget(key)
            if requeue_after is not None:
                queue.add_after(key, requeue_after)
        finally:
            queue.done(key)
        await asyncio.sleep(0)  # a reconcile without work never yields to other tasks


def _log_failure(name: str, key: str | NamespacedName, error: Exception, delay: float) -> None:
    if isinstance(error, errors.Conflict | errors.NotFound):
        return  # the informer will deliver, or has delivered, the newer object
    fields = {"controller": name, "object": key if isinstance(key, str) else "/".join(key), "retry_in": round(delay, 3)}
    if isinstance(error, errors.ApiError):
        log.warning("reconcile failed", extra={**fields, "error": str(error)})
    else:
        log.error("reconcile failed", extra=fields, exc_info=error)
