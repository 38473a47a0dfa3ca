"""The workers of a controller: one reconcile of a key at a time, retries and requeues."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from traincrew import errors
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.reconcile_loop import NamespacedName

KEY, OTHER = ("n", "x"), ("n", "y")

Queue = WorkQueue[NamespacedName]


class Reconciler:
    def __init__(self) -> None:
        self.keys: list[NamespacedName] = []
        self.unblocked = asyncio.Event()
        self.unblocked.set()
        self.failures: list[Exception] = []
        self.requeue_after: list[float | None] = []
        self.called = asyncio.Event()

    async def reconcile(self, key: NamespacedName) -> float | None:
        self.keys.append(key)
        self.called.set()
        await self.unblocked.wait()
        if self.failures:
            raise self.failures.pop()
        return self.requeue_after.pop() if self.requeue_after else None

    async def calls(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.keys) < count:
                self.called.clear()
                await self.called.wait()


@contextlib.asynccontextmanager
async def running(reconciler: Reconciler) -> AsyncIterator[Queue]:
    queue: Queue = WorkQueue()
    task = asyncio.create_task(reconcile_loop.run("test", queue, reconciler.reconcile))
    try:
        yield queue
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_changes_during_a_reconcile_cause_one_more() -> None:
    reconciler = Reconciler()
    async with running(reconciler) as queue:
        reconciler.unblocked.clear()
        queue.add(KEY)
        await reconciler.calls(1)
        for _ in range(5):
            queue.add(KEY)
        queue.add(OTHER)
        await reconciler.calls(2)
        assert reconciler.keys == [KEY, OTHER]  # the same key waits, another does not
        reconciler.unblocked.set()
        await reconciler.calls(3)
        assert reconciler.keys[2:] == [KEY]


@pytest.mark.parametrize("failure", [errors.Conflict("changed"), errors.Unreachable("away"), RuntimeError("a mistake")])
async def test_a_failed_reconcile_is_retried(failure: Exception) -> None:
    reconciler = Reconciler()
    reconciler.failures.append(failure)
    async with running(reconciler) as queue:
        queue.add(KEY)
        await reconciler.calls(2)


async def test_a_reconcile_may_ask_for_another_later() -> None:
    reconciler = Reconciler()
    reconciler.requeue_after.append(0.01)
    async with running(reconciler) as queue:
        queue.add(KEY)
        await reconciler.calls(2)


async def test_changes_to_many_pods_are_reconciled_together() -> None:
    reconciler = Reconciler()
    async with running(reconciler) as queue:
        for _ in range(100):
            queue.add_after(KEY, reconcile_loop.batch_period(100))
        await reconciler.calls(1)
        queue.add(OTHER)
        await reconciler.calls(2)
        assert reconciler.keys == [KEY, OTHER]
