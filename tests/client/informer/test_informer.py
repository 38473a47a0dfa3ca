"""The informer with aborted watches, expired versions, rejected requests and restored backups."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest

from traincrew import errors
from traincrew.client import connection, informer, remote, store
from traincrew.model.resources import PODS

if TYPE_CHECKING:
    from tests.client.informer.conftest import Widget, WidgetFactory, WidgetServer


class Cache:
    """An informer, its store and the changes that it reported."""

    def __init__(
        self,
        reader: remote.RemoteClient,
        factory: WidgetFactory,
        namespace: str | None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._callback = on_change
        self.changes: list[str] = []
        self.store: store.InformerStore[Widget] = store.InformerStore(factory.decode, self._on_change)
        self.informer = informer.Informer(reader, informer.Scope(PODS, namespace), self.store)
        self._changed = asyncio.Event()

    def _on_change(self, old: Widget | None, new: Widget | None) -> None:
        changed = new or old
        assert changed is not None
        sign = "+" if old is None else "-" if new is None else "~"
        self.changes.append(f"{sign}{changed.metadata.name}{new.phase if new else ''}")
        self._changed.set()
        self._callback()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Cache]:
        running = asyncio.create_task(self.informer.run())
        try:
            async with asyncio.timeout(20):
                await self.informer.synced.wait()
            yield self
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                self._changed.clear()
                with contextlib.suppress(TimeoutError):  # some conditions do not depend on changes
                    await asyncio.wait_for(self._changed.wait(), 0.02)

    def phases(self) -> dict[str, str]:
        return {each.metadata.name: each.phase for each in self.store}


def run_informer(
    reader: remote.RemoteClient, factory: WidgetFactory, namespace: str | None = None
) -> contextlib.AbstractAsyncContextManager[Cache]:
    return Cache(reader, factory, namespace).running()


async def test_a_synced_store_contains_all_pages(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory
) -> None:
    for number in range(8):
        await widgets.put(f"p-{number}")
    async with run_informer(reader, factory) as cache:
        assert len(cache.store) == 8
        assert sorted(cache.changes) == [f"+p-{number}" for number in range(8)]


async def test_changes_are_watched(widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory) -> None:
    await widgets.put("a", "x")
    async with run_informer(reader, factory) as cache:
        await widgets.put("a", "y")
        await widgets.put("b")
        await widgets.remove("a")
        await cache.until(lambda: cache.phases() == {"b": ""})
    assert cache.changes == ["+ax", "~ay", "+b", "-a"]
    assert widgets.lists == 1


async def test_an_aborted_watch_is_resumed(widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory) -> None:
    async with run_informer(reader, factory) as cache:
        for number in range(3):
            await widgets.wait_for_watches(number + 1)
            await widgets.put("a", str(number))
            await cache.until(lambda number=number: cache.phases() == {"a": str(number)})  # type: ignore[misc]
            await widgets.abort_watches()
        await widgets.remove("a")
        await cache.until(lambda: not cache.phases())
    assert cache.changes == ["+a0", "~a1", "~a2", "-a"]
    assert widgets.watched_from == [100, 101, 102, 103]


async def test_after_an_expired_version_a_list_reports_the_changes(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory
) -> None:
    for name in ("stays", "changes", "goes"):
        await widgets.put(name)
    async with run_informer(reader, factory) as cache:
        await widgets.wait_for_watches(1)
        cache.changes.clear()
        widgets.codes += [503] * 3  # until all changes are written
        await widgets.abort_watches()
        await widgets.put("changes", "x")
        await widgets.put("comes")
        await widgets.remove("goes")
        widgets.expire_versions()
        await cache.until(lambda: cache.phases() == {"stays": "", "changes": "x", "comes": ""})
    assert sorted(cache.changes) == ["+comes", "-goes", "~changesx"]


async def test_a_list_does_not_revert_writes_that_followed_its_start(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory
) -> None:
    for name in ("a", "b", "c", "d", "e"):
        await widgets.put(name)
    cache = Cache(reader, factory, None)

    async def write_objects() -> None:
        widgets.between_pages = None
        cache.store.apply_response(await widgets.put("e", "ours"))
        cache.store.apply_response(await widgets.put("created"))
        cache.store.remove(factory.decode(await widgets.remove("d")))

    widgets.between_pages = write_objects
    async with cache.running():
        assert cache.phases() == {"a": "", "b": "", "c": "", "e": "ours", "created": ""}
        await widgets.put("theirs")
        await cache.until(lambda: "theirs" in cache.phases())
    assert cache.changes == ["+a", "+b", "+c", "~eours", "+theirs"], "e is reported, because it was not stored before our write"


async def test_the_watch_does_not_report_our_own_writes(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory
) -> None:
    async with run_informer(reader, factory) as cache:
        await widgets.wait_for_watches(1)
        cache.store.apply_response(await widgets.put("ours"))
        await widgets.put("theirs")
        await cache.until(lambda: "theirs" in cache.phases())
    assert cache.changes == ["+theirs"]


async def test_an_undecodable_object_is_reported_and_the_others_are_stored(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory, caplog: pytest.LogCaptureFixture
) -> None:
    await widgets.put("good")
    await widgets.put("bad", {"not": "text"})
    await widgets.put("turns")
    async with run_informer(reader, factory) as cache:
        assert cache.phases() == {"good": "", "turns": ""}
        await widgets.put("turns", 5)
        await widgets.put("after")
        await cache.until(lambda: "after" in cache.phases())
        assert [each.__dict__["object"] for each in caplog.records] == ["ns/bad", "ns/turns"]
        widgets.expire_versions()
        await widgets.abort_watches()
        await widgets.put("last")
        await cache.until(lambda: "last" in cache.phases() and len(widgets.watched_from) == 2)
        assert "turns" in cache.phases(), "an undecodable object is not deleted"
        await widgets.remove("turns")
        await cache.until(lambda: "turns" not in cache.phases())


async def test_an_object_without_readable_metadata_does_not_end_the_informer(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory
) -> None:
    async with run_informer(reader, factory) as cache:
        await widgets.put("a")
        await cache.until(lambda: "a" in cache.phases())
        widgets.objects["odd"] = {"metadata": {"name": 5}}
        widgets.expire_versions()
        await widgets.abort_watches()
        await cache.until(lambda: cache.informer.failure is not None and "internal error" in cache.informer.failure.message)
        del widgets.objects["odd"]
        await widgets.put("b")
        await cache.until(lambda: "b" in cache.phases() and cache.informer.failure is None)


async def test_a_restored_backup_replaces_the_stored_objects(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory
) -> None:
    for name in ("a", "b"):
        await widgets.put(name, "new")
    async with run_informer(reader, factory) as cache:
        await widgets.wait_for_watches(1)
        cache.changes.clear()
        del widgets.objects["b"]
        widgets.objects["a"]["phase"] = "restored"
        widgets.restore(50)
        await widgets.abort_watches()
        await cache.until(lambda: cache.phases() == {"a": "restored"})
        await widgets.put("a", "later")
        await cache.until(lambda: cache.phases() == {"a": "later"})
    assert sorted(cache.changes) == ["-b", "~alater", "~arestored"]


async def test_rejected_requests_are_retried_and_reported(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory
) -> None:
    async with run_informer(reader, factory) as cache:
        await widgets.wait_for_watches(1)
        widgets.codes += [403] * 2
        await widgets.abort_watches()
        await cache.until(lambda: isinstance(cache.informer.failure, errors.Forbidden))
        await widgets.put("a")
        await cache.until(lambda: cache.phases() == {"a": ""})
        assert cache.informer.failure is None


async def test_watches_that_end_at_once_are_retried_with_backoff(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []
    pause = asyncio.sleep

    async def record_delay(delay: float) -> None:
        if delay:
            delays.append(delay)
        await pause(0)

    monkeypatch.setattr("traincrew.client.informer.asyncio.sleep", record_delay)
    async with run_informer(reader, factory) as cache:
        widgets.codes += [200] * 12
        await widgets.abort_watches()
        await widgets.put("a")
        await cache.until(lambda: len(delays) >= 12 and "a" in cache.phases())
    assert len(delays) <= 14
    assert max(delays) > 2


async def test_a_list_deletes_only_objects_of_its_namespace(
    widgets: WidgetServer, reader: remote.RemoteClient, factory: WidgetFactory
) -> None:
    async with run_informer(reader, factory, "ns") as cache:
        foreign = b'{"metadata":{"name":"x","namespace":"other","uid":"u","resourceVersion":"1"}}'
        cache.store.apply_response(foreign)
        await widgets.wait_for_watches(1)
        await widgets.put("a")
        widgets.expire_versions()
        await widgets.abort_watches()
        await widgets.put("b")
        await cache.until(lambda: len(widgets.watched_from) == 2 and "b" in cache.phases())
    assert sorted(cache.phases()) == ["a", "b", "x"]


async def test_other_tasks_run_during_a_long_list(
    widgets: WidgetServer, address: connection.ServerConnection, factory: WidgetFactory
) -> None:
    for number in range(450):
        await widgets.put(f"p-{number}")
    turns, turns_at_change = 0, []

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with remote.RemoteClient(address) as reader:  # all objects are in one page
        cache = Cache(reader, factory, None, on_change=lambda: turns_at_change.append(turns))
        busy = asyncio.create_task(count_turns())
        async with cache.running():
            busy.cancel()
    assert len(turns_at_change) == 450
    assert len(set(turns_at_change)) >= 450 // informer.YIELD_EVERY
