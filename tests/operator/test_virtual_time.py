"""The virtual-time loop itself."""

from __future__ import annotations

import asyncio
import time

import pytest
from tests.operator.virtual_time import VirtualTimeLoop, in_virtual_time


@in_virtual_time
async def test_the_clock_jumps_over_a_day_of_sleep() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.sleep(86_400)
    assert loop.time() - began == pytest.approx(86_400)


@in_virtual_time
async def test_timers_fire_in_their_order() -> None:
    order: list[int] = []

    async def sleep(seconds: int) -> None:
        await asyncio.sleep(seconds)
        order.append(seconds)

    await asyncio.gather(sleep(300), sleep(10), sleep(60))
    assert order == [10, 60, 300]


@in_virtual_time
async def test_time_stands_still_while_a_thread_works() -> None:
    async with asyncio.timeout(1):
        await asyncio.to_thread(time.sleep, 0.05)


def test_a_deadlock_is_an_error() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="deadlock"), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(wait())
