"""The lister, which several controllers share: each of them learns of every change once, also of each other's writes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from traincrew.client import lister, remote
from traincrew.model.resources import PODS

if TYPE_CHECKING:
    from tests.client.informer.conftest import Widget, WidgetFactory, WidgetServer

Changes = list[tuple[str, str]]
"""The phases of a widget before and after each change."""


class SharedLister:
    """A lister with two listeners, and the changes that each of them has seen."""

    def __init__(self, reader: remote.RemoteClient, factory: WidgetFactory) -> None:
        self.lister: lister.Lister[Widget] = lister.Lister(reader, PODS, factory.decode)
        self.seen: tuple[Changes, Changes] = ([], [])
        self.lister.listeners += [functools.partial(_record, changes) for changes in self.seen]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        informer = asyncio.create_task(self.lister.informer.run())
        try:
            async with asyncio.timeout(20):
                await self.lister.informer.synced.wait()
            yield
        finally:
            informer.cancel()
            await asyncio.gather(informer, return_exceptions=True)

    async def until_stored(self, name: str, phase: str) -> Widget:
        async with asyncio.timeout(20):
            while (found := self.lister.get("ns", name)) is None or found.phase != phase:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        return found

    def take_changes(self) -> Changes:
        """Those since the last call, which must be the same for both listeners."""
        assert self.seen[0] == self.seen[1]
        taken = list(self.seen[0])
        for changes in self.seen:
            changes.clear()
        return taken


def _record(changes: Changes, old: Widget | None, new: Widget | None) -> None:
    changes.append((_phase(old), _phase(new)))


def _phase(widget: Widget | None) -> str:
    return widget.phase if widget is not None else "-"


@pytest.fixture
def shared(reader: remote.RemoteClient, factory: WidgetFactory) -> SharedLister:
    return SharedLister(reader, factory)


async def test_a_write_is_reported_when_its_response_arrives_and_not_again(shared: SharedLister, widgets: WidgetServer) -> None:
    async with shared.running():
        shared.lister.apply_response(await widgets.put("a", "created"))
        shared.lister.apply_response(await widgets.put("a", "patched"))
        assert shared.take_changes() == [("-", "created"), ("created", "patched")]
        await widgets.put("b", "theirs")
        await shared.until_stored("b", "theirs")
        assert shared.take_changes() == [("-", "theirs")]


async def test_a_write_that_the_watch_delivers_first_is_reported_once(shared: SharedLister, widgets: WidgetServer) -> None:
    async with shared.running():
        response = await widgets.put("a", "created")
        await shared.until_stored("a", "created")
        shared.lister.apply_response(response)
        assert shared.take_changes() == [("-", "created")]


async def test_a_deletion_of_ours_is_reported_once(shared: SharedLister, widgets: WidgetServer) -> None:
    async with shared.running():
        await widgets.put("a", "theirs")
        stored = await shared.until_stored("a", "theirs")
        shared.take_changes()
        shared.lister.apply_delete_response(stored, b'{"kind":"Status"}')
        assert shared.take_changes() == [("theirs", "-")]
        await widgets.remove("a")
        await widgets.put("b", "later")
        await shared.until_stored("b", "later")
        assert shared.take_changes() == [("-", "later")]


async def test_an_object_that_replaces_another_of_its_name_is_reported_as_two_changes(
    shared: SharedLister, widgets: WidgetServer
) -> None:
    shared.lister.apply_response(await widgets.put("a", "first"))
    await widgets.remove("a")
    shared.lister.apply_response(await widgets.put("a", "second"))
    assert shared.take_changes() == [("-", "first"), ("first", "-"), ("-", "second")]


async def test_a_listener_that_fails_affects_neither_the_others_nor_the_watch(
    shared: SharedLister, widgets: WidgetServer
) -> None:
    def fail(_old: Widget | None, _new: Widget | None) -> None:
        raise KeyError("namespace")

    shared.lister.listeners.insert(0, fail)
    async with shared.running():
        await widgets.put("a", "theirs")
        await shared.until_stored("a", "theirs")
        shared.lister.apply_response(await widgets.put("b", "ours"))
        assert shared.take_changes() == [("-", "theirs"), ("-", "ours")]
