"""Background tasks: they end with their block, and a failure is logged though no one awaits it."""

from __future__ import annotations

import asyncio

import pytest

from traincrew.serving import background_tasks


async def test_the_block_waits_until_its_tasks_have_ended() -> None:
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    async with background_tasks.running(work("a"), work("b")):
        await asyncio.sleep(0)
        assert ended == []
    assert ended == ["a", "b"]


async def test_a_task_that_fails_is_logged_at_once_and_the_block_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("broken")

    async with background_tasks.running(fail()):
        await asyncio.sleep(0.01)
        (record,) = caplog.records
    assert (record.message, str(record.exc_info and record.exc_info[1])) == ("background task failed", "broken")
