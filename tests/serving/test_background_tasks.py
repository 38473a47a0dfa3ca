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


async def test_a_task_that_must_keep_running_runs_again_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    runs, running = list[int](), asyncio.Event()

    async def work() -> None:
        runs.append(1)
        if len(runs) == 1:
            raise ExceptionGroup("unhandled errors in a TaskGroup", [KeyError("namespace")])
        running.set()
        await asyncio.Event().wait()

    async with background_tasks.running(background_tasks.keep_running("worker", work)), asyncio.timeout(20):
        await running.wait()
    (record,) = caplog.records
    assert (record.message, record.__dict__["task"], len(runs)) == ("task failed", "worker", 2)
