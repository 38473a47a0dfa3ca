"""The work queue: order, merging of duplicates, delays and back-off."""

from __future__ import annotations

import asyncio

from traincrew.client.workqueue import WorkQueue


async def test_a_key_added_twice_is_processed_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add("a")
    queue.add("b")

    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_a_key_added_while_it_is_processed_is_queued_again_when_done() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    key = await queue.get()
    queue.add("a")

    assert len(queue) == 0
    assert key is not None
    queue.done(key)
    assert await queue.get() == "a"


async def test_every_waiting_worker_gets_another_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.add("a")
    queue.add("b")

    assert set(await asyncio.gather(*workers)) == {"a", "b"}


async def test_a_delayed_key_is_added_at_the_earlier_of_two_times() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 30)
    queue.add_after("a", 0.01)
    queue.add_after("b", 0.02)

    assert await asyncio.wait_for(queue.get(), 5) == "a"
    assert await asyncio.wait_for(queue.get(), 5) == "b"


async def test_a_key_without_delay_is_added_at_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 0)

    assert len(queue) == 1


async def test_delays_after_failures_grow_until_the_key_is_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue()
    delays = [queue.add_rate_limited("a") for _ in range(6)]
    queue.forget("a")

    assert delays == sorted(delays)
    assert queue.add_rate_limited("a") < delays[2]


async def test_the_delay_after_a_failure_is_never_less_than_requested() -> None:
    queue: WorkQueue[str] = WorkQueue()

    assert queue.add_rate_limited("a", at_least=7.0) == 7.0


async def test_shutting_down_ends_waiting_workers() -> None:
    queue: WorkQueue[str] = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.shut_down()

    assert await asyncio.gather(*workers) == [None, None, None]
