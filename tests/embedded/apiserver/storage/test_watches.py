"""Watches: complete, in order, resumable, bounded."""

from __future__ import annotations

import asyncio

import pytest
from tests.embedded.apiserver.storage.conftest import Open
from tests.embedded.apiserver.storage.stored_objects import body, event_summary, pod

from traincrew.embedded.apiserver.storage.errors import RevisionCompacted, RevisionTooNew, StoreUnavailable, WatchTooSlow
from traincrew.embedded.apiserver.storage.records import Key, RecordChange, StorageLimits
from traincrew.embedded.apiserver.storage.store import Store
from traincrew.embedded.apiserver.storage.watch import StorageWatch


async def fill(store: Store, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        await store.put(pod(f"p{number % 10}"), body(pod(f"p{number % 10}"), str(number)))


async def revisions(watch: StorageWatch, count: int) -> list[int]:
    return [(await anext(watch)).revision for _ in range(count)]


async def test_a_watch_delivers_every_change_with_the_previous_state(opened: Open) -> None:
    store = opened()
    watch = store.watch("pods", "", store.revision)
    await store.put(pod("a"), body(pod("a"), "1"))
    await store.put(pod("a"), body(pod("a"), "2"))
    await store.delete(pod("a"))
    await store.put(pod("a"), body(pod("a"), "3"))
    assert [event_summary(await anext(watch)) for _ in range(4)] == [
        ("ADDED", "a", "1", None),
        ("MODIFIED", "a", "2", "1"),
        ("DELETED", "a", "2", "2"),
        ("ADDED", "a", "3", None),
    ]


async def test_a_watch_is_limited_to_one_resource_and_one_namespace(opened: Open) -> None:
    store = opened()
    watch = store.watch("pods", "x", store.revision)
    for key in (pod("a", "x"), pod("b", "y"), Key("services", "x", "c"), pod("d", "x")):
        await store.put(key, body(key))
    assert [change.record.key.name for change in [await anext(watch), await anext(watch)]] == ["a", "d"]


async def test_the_watches_of_a_resource_that_is_no_longer_served_end_after_its_last_change(opened: Open) -> None:
    store = opened()
    watch, waiting = (store.watch("pods", "", store.revision) for _ in range(2))
    waiter = asyncio.create_task(_all(waiting))
    await store.put(pod("a"), body(pod("a")))
    await store.delete(pod("a"))
    store.change_logs.of("pods").end_watches()
    again = store.watch("pods", "", store.revision)
    assert [change.type for change in await _all(watch)] == ["ADDED", "DELETED"]
    assert [change.type for change in await waiter] == ["ADDED", "DELETED"]
    await store.put(pod("b"), body(pod("b")))
    assert (await anext(again)).record.key.name == "b"


async def _all(watch: StorageWatch) -> list[RecordChange]:
    return [change async for change in watch]


@pytest.mark.parametrize("restart", [False, True])
async def test_a_watch_resumes_after_any_revision_also_across_a_restart(opened: Open, restart: bool) -> None:
    store = opened()
    first = store.revision
    watch = store.watch("pods", "", first)
    await fill(store, 300)
    await store.delete(pod("p3"))
    live = [await anext(watch) for _ in range(301)]
    if restart:
        await store.close()
        store = opened()
    for start in (0, 1, 150, 299, 301):
        watch = store.watch("pods", "", first + start)
        resumed = [await anext(watch) for _ in range(301 - start)]
        assert [(*event_summary(change), change.revision) for change in resumed] == [
            (*event_summary(change), change.revision) for change in live[start:]
        ]
        await store.put(Key("nodes", "", "n"), body(Key("nodes", "", "n")))
        assert watch.position == store.revision


async def test_a_watch_continues_from_the_file_to_memory_without_a_gap(opened: Open) -> None:
    store = opened(StorageLimits(recent_changes=20))
    first = store.revision
    await fill(store, 500)
    watch = store.watch("pods", "", first)
    collected = asyncio.create_task(revisions(watch, 700))
    await fill(store, 200, 500)
    assert await collected == list(range(first + 1, first + 701))


async def test_a_slow_watch_is_dropped_and_the_others_continue(opened: Open) -> None:
    store = opened(StorageLimits(recent_changes=50))
    slow, quick, quiet = (store.watch(resource, "", store.revision) for resource in ("pods", "pods", "nodes"))
    start = store.revision
    reading = asyncio.create_task(revisions(quick, 200))
    await fill(store, 200)
    assert await reading == list(range(start + 1, start + 201))
    with pytest.raises(WatchTooSlow):
        await anext(slow)
    await store.put(Key("nodes", "", "n"), body(Key("nodes", "", "n")))
    assert (await anext(quiet)).type == "ADDED"


async def test_a_watch_is_too_slow_by_bytes_too(opened: Open) -> None:
    store = opened(StorageLimits(recent_bytes=100_000))
    slow = store.watch("pods", "", store.revision)
    for _ in range(20):
        await store.put(pod("a"), body(pod("a"), "x" * 10_000))
    with pytest.raises(WatchTooSlow):
        await anext(slow)


async def test_the_position_only_advances_and_skips_other_resources(opened: Open) -> None:
    store = opened()
    watch = store.watch("pods", "x", store.revision)
    positions = [watch.position]
    for number in range(30):
        key = pod(f"a{number}", "xyz"[number % 3])
        await store.put(key, body(key))
        positions.append(watch.position)
        if number % 3 == 0:
            change = await anext(watch)
            assert positions[-1] < change.revision
            assert watch.position == change.revision
    assert positions == sorted(positions)
    waiting = asyncio.create_task(anext(watch))
    await fill(store, 1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert watch.position == store.revision


async def test_a_cancelled_wait_loses_no_change(opened: Open) -> None:
    store = opened()
    watch = store.watch("pods", "", store.revision)
    for number in range(20):
        waiting = asyncio.create_task(anext(watch))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        record = await store.put(pod("a"), body(pod("a"), str(number)))
        assert (await anext(watch)).revision == record.revision


async def test_a_batch_contains_all_pending_changes(opened: Open) -> None:
    store = opened()
    watch = store.watch("pods", "", store.revision)
    await fill(store, 40)
    assert len(await watch.batch()) == 40
    await store.close()
    assert await watch.batch() == ()


async def test_a_closed_watch_ends_its_reader(opened: Open) -> None:
    store = opened()
    watch = store.watch("pods", "", store.revision)
    reading = asyncio.ensure_future(anext(watch, None))
    await asyncio.sleep(0)
    watch.close()
    assert await reading is None


async def test_closing_the_store_ends_its_watches(opened: Open) -> None:
    store = opened()
    readings = [asyncio.ensure_future(anext(store.watch("pods", "", store.revision), None)) for _ in range(5)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*readings) == [None] * 5


async def test_future_and_compacted_revisions_are_different_errors(opened: Open) -> None:
    store = opened()
    with pytest.raises(RevisionTooNew):
        store.watch("pods", "", store.revision + 1)
    with pytest.raises(RevisionCompacted):
        store.watch("pods", "", store.compacted - 1)


async def test_listeners_are_called_when_a_change_is_visible_and_before_its_writer_continues(opened: Open) -> None:
    store = opened()
    heard: list[tuple[str, bool, bool]] = []
    store.listeners["pods"] = [lambda change: heard.append((change.type, writing.done(), store.get(pod("a")) is change.record))]
    writing = asyncio.ensure_future(store.put(pod("a"), body(pod("a"))))
    await writing
    await store.put(Key("nodes", "", "n"), body(Key("nodes", "", "n")))
    assert heard == [("ADDED", False, True)]


async def test_a_listener_that_fails_holds_neither_its_writer_nor_those_after_it(opened: Open) -> None:
    store, heard = opened(), list[str]()

    def fail(change: RecordChange) -> None:
        raise KeyError(change.type)

    store.listeners["pods"] = [fail, lambda change: heard.append(change.type)]
    async with asyncio.timeout(20):
        await asyncio.gather(*(store.put(pod(name), body(pod(name))) for name in ("a", "b")))
    assert heard == ["ADDED", "ADDED"]


async def test_a_closed_store_rejects_new_watches(opened: Open) -> None:
    store = opened()
    await store.put(pod("a"), body(pod("a"), "1"))
    watch = store.watch("pods", "", store.revision)
    await store.close()
    with pytest.raises(StopAsyncIteration):
        await anext(watch)
    with pytest.raises(StoreUnavailable):
        store.watch("pods", "", store.revision)
