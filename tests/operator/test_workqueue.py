"""Which job is looked at next, and that none is looked at twice at once."""

from __future__ import annotations

import asyncio

from traincrew.client.object_keys import Key
from traincrew.client.workqueue import WorkQueue

A, B = Key("tfjobs", "n", "a"), Key("tfjobs", "n", "b")


async def test_a_key_added_twice_is_taken_once() -> None:
    queue = WorkQueue()
    queue.add(A)
    queue.add(A)
    queue.add(B)

    assert [await queue.take(), await queue.take()] == [A, B]
    assert len(queue) == 0


async def test_a_key_added_while_it_is_busy_comes_back_when_that_is_done() -> None:
    queue = WorkQueue()
    queue.add(A)
    taken = await queue.take()
    queue.add(A)

    assert len(queue) == 0
    assert taken is not None
    queue.done(taken)
    assert await queue.take() == A


async def test_every_waiting_worker_gets_a_key_of_its_own() -> None:
    queue = WorkQueue()
    workers = [asyncio.create_task(queue.take()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.add(A)
    queue.add(B)

    assert set(await asyncio.gather(*workers)) == {A, B}


async def test_a_timer_brings_a_key_and_the_earlier_of_two_holds() -> None:
    queue = WorkQueue()
    queue.add_after(A, 30)
    queue.add_after(A, 0.01)
    queue.add_after(B, 0.02)

    assert await asyncio.wait_for(queue.take(), 5) == A
    assert await asyncio.wait_for(queue.take(), 5) == B


async def test_delays_after_failures_grow_and_begin_anew_after_a_success() -> None:
    queue = WorkQueue()
    delays = [queue.failed(A) for _ in range(6)]
    queue.succeeded(A)

    assert delays == sorted(delays)
    assert queue.failed(A) < delays[2]


async def test_closing_lets_waiting_workers_go() -> None:
    queue = WorkQueue()
    workers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.close()

    assert await asyncio.gather(*workers) == [None, None, None]
