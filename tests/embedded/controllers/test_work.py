"""Keys are looked at once at a time, and again as often as something changed meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from traincrew import errors
from traincrew.embedded.controllers.event_correlation import BURST, Correlator, Event
from traincrew.embedded.controllers.workqueue import Key, Work

KEY = ("n", "x")


class Looks:
    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.open = asyncio.Event()
        self.open.set()
        self.failures: list[Exception] = []
        self.again: list[float | None] = []
        self.changed = asyncio.Event()

    async def look(self, key: Key) -> float | None:
        self.keys.append(key)
        self.changed.set()
        await self.open.wait()
        if self.failures:
            raise self.failures.pop()
        return self.again.pop() if self.again else None

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.keys) < count:
                self.changed.clear()
                await self.changed.wait()


@contextlib.asynccontextmanager
async def working(looks: Looks) -> AsyncIterator[Work]:
    work = Work("test", looks.look)
    task = asyncio.create_task(work.run())
    try:
        yield work
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_changes_during_a_look_bring_one_more() -> None:
    looks = Looks()
    async with working(looks) as work:
        looks.open.clear()
        work.add(KEY)
        await looks.reach(1)
        for _ in range(5):
            work.add(KEY)
        work.add(("n", "y"))
        await looks.reach(2)
        assert looks.keys == [KEY, ("n", "y")]  # another is not kept waiting, the same is
        looks.open.set()
        await looks.reach(3)
        assert looks.keys[2:] == [KEY]


@pytest.mark.parametrize("failure", [errors.Conflict("changed"), errors.Unreachable("away"), RuntimeError("a mistake")])
async def test_what_failed_is_tried_again(failure: Exception) -> None:
    looks = Looks()
    looks.failures.append(failure)
    async with working(looks) as work:
        work.add(KEY)
        await looks.reach(2)


async def test_a_look_may_ask_for_another_later() -> None:
    looks = Looks()
    looks.again.append(0.01)
    async with working(looks) as work:
        work.add(KEY)
        await looks.reach(2)


async def test_many_changes_to_one_of_many_are_taken_together() -> None:
    looks = Looks()
    async with working(looks) as work:
        for _ in range(100):
            work.add_of_many(KEY, 100)
        await looks.reach(1)
        work.add(("n", "y"))
        await looks.reach(2)
        assert looks.keys == [KEY, ("n", "y")]


def event(message: str) -> Event:
    return Event("c", "v1", "Pod", "n", "p", "u", "1", "Normal", "Because", message)


def test_the_same_event_is_counted_on_the_first() -> None:
    found = Correlator()
    first = found.take(event("a"), 0)
    assert found.take(event("a"), 1) is first
    assert first is not None
    assert first.count == 2


def test_from_the_tenth_on_similar_events_are_joined() -> None:
    found = Correlator()
    told = [found.take(event(str(number)), number) for number in range(12)]
    messages = [each.message for each in told if each is not None]
    assert messages[8] == "8"
    assert told[9] is told[11]
    assert messages[11] == "(combined from similar events): 11"


def test_a_flood_about_one_object_is_cut_off_and_ebbs() -> None:
    found = Correlator()
    told = [found.take(event("a"), 0) for _ in range(BURST + 5)]
    assert told.count(None) == 5
    assert found.take(event("a"), 301) is not None
