"""History: lists at earlier revisions, compaction, sweeping of the file."""

from __future__ import annotations

import contextlib
import pathlib
import sqlite3

import pytest
from tests.embedded.apiserver.storage.conftest import Open
from tests.embedded.apiserver.storage.stored_objects import body, pod, until

from traincrew.embedded.apiserver.storage.errors import RevisionCompacted, RevisionTooNew
from traincrew.embedded.apiserver.storage.records import Record, StorageLimits
from traincrew.embedded.apiserver.storage.retention import HistoryRetention
from traincrew.embedded.apiserver.storage.store import Store

States = dict[int, list[tuple[str, int]]]


def state(records: list[Record]) -> list[tuple[str, int]]:
    return [(record.key.name, record.revision) for record in records]


async def churn(store: Store, rounds: int) -> States:
    """Creates, changes and deletes; returns the list at each revision."""
    states = {store.revision: state(store.list("pods"))}
    for number in range(rounds):
        key = pod(f"p{number * 7 % 12}", "ab"[number % 2])
        if store.get(key) and number % 3 == 0:
            await store.delete(key)
        else:
            await store.put(key, body(key, "x" * 100))
        states[store.revision] = state(store.list("pods"))
    return states


@pytest.mark.parametrize("recent", [10_000, 10])
async def test_a_list_at_a_revision_equals_the_list_at_that_time(opened: Open, recent: int) -> None:
    store = opened(StorageLimits(recent_changes=recent))
    states = await churn(store, 120)
    for _ in range(2):
        assert {revision: state(store.list_at("pods", "", revision)) for revision in states} == states
    with pytest.raises(RevisionTooNew):
        store.list_at("pods", "", store.revision + 1)
    await store.close()
    again = opened()
    assert {revision: state(again.list_at("pods", "", revision)) for revision in states} == states
    middle = min(states) + 60
    apart = [state(again.list_at("pods", namespace, middle)) for namespace in "ab"]
    assert apart[0] + apart[1] == states[middle]


async def wait_for_sweep(path: pathlib.Path, upto: int) -> None:
    """Waits until all superseded states up to that revision are removed."""
    with contextlib.closing(sqlite3.connect(path)) as reader:
        await until(lambda: reader.execute("SELECT value FROM meta WHERE name = 'swept'").fetchone()[0] >= upto)


async def test_compaction_removes_old_changes_and_keeps_the_state(opened: Open, path: pathlib.Path) -> None:
    store = opened(StorageLimits(history_changes=100))
    states = await churn(store, 1500)
    compacted = store.compacted
    assert store.revision - 110 < compacted <= store.revision - 90
    with pytest.raises(RevisionCompacted) as expired:
        store.list_at("pods", "", compacted - 1)
    assert expired.value.compacted == compacted
    with pytest.raises(RevisionCompacted):
        store.watch("pods", "", compacted - 1)
    kept = {revision: listed for revision, listed in states.items() if revision >= compacted}
    assert {revision: state(store.list_at("pods", "", revision)) for revision in kept} == kept
    await wait_for_sweep(path, compacted)
    await store.close()
    with contextlib.closing(sqlite3.connect(path)) as reader:
        assert reader.execute("SELECT count(*) FROM changes").fetchone()[0] <= 110 + 24
    again = opened()
    assert again.compacted == compacted
    assert {revision: state(again.list_at("pods", "", revision)) for revision in kept} == kept
    watch = again.watch("pods", "", compacted)
    assert [(await anext(watch)).revision for _ in range(len(kept) - 1)] == sorted(kept)[1:]


async def test_the_revision_does_not_decrease_when_the_last_deletion_is_removed(opened: Open, path: pathlib.Path) -> None:
    store = opened(StorageLimits(history_age=0.01))
    await store.put(pod("a"), body(pod("a")))
    last = await store.delete(pod("a"))
    await until(lambda: store.compacted >= last.revision)
    await wait_for_sweep(path, last.revision)
    await store.close()
    with contextlib.closing(sqlite3.connect(path)) as reader:
        assert reader.execute("SELECT count(*) FROM changes").fetchone()[0] == 0
    again = opened()
    assert again.revision == last.revision
    assert (await again.put(pod("a"), body(pod("a")))).revision == last.revision + 1


async def test_a_watch_that_compaction_overtakes_in_the_file_expires(opened: Open) -> None:
    store = opened(StorageLimits(history_changes=300, recent_changes=10))
    start = store.revision
    await churn(store, 290)
    watch = store.watch("pods", "", start)
    await anext(watch)
    await churn(store, 400)
    with pytest.raises(RevisionCompacted):
        async for _ in watch:
            pass


async def test_an_interrupted_sweep_is_finished_later(opened: Open, path: pathlib.Path) -> None:
    limits = StorageLimits(history_changes=100)
    store = opened(limits)
    await churn(store, 700)
    compacted = store.compacted
    await store.close()
    with contextlib.closing(sqlite3.connect(path)) as writer, writer:
        writer.execute("UPDATE meta SET value = 1 WHERE name = 'swept'")
    again = opened(limits)
    await again.put(pod("a"), body(pod("a")))
    await wait_for_sweep(path, compacted)
    assert again.compacted == compacted


def test_history_is_compacted_by_count_bytes_or_age() -> None:
    def cuts(limits: StorageLimits) -> int:
        retention = HistoryRetention(limits, 1, 0)
        for second in range(1000):
            retention.note(float(second), 2 + second, 100)
        return retention.cut(999.0, 1001)

    assert 1001 - 110 < cuts(StorageLimits(history_changes=100, history_age=1e9)) <= 1001 - 90
    assert 1001 - 110 < cuts(StorageLimits(history_bytes=10_000, history_age=1e9)) <= 1001 - 90
    assert 1001 - 110 < cuts(StorageLimits(history_age=100.0)) <= 1001 - 90
    assert cuts(StorageLimits(history_age=1e9)) == 1


def test_states_of_earlier_runs_count_too() -> None:
    retention = HistoryRetention(StorageLimits(history_bytes=10_000), 1, 9_950)
    retention.note(0.0, 500, 100)
    assert retention.cut(0.0, 500) == 500


async def test_the_pages_of_one_list_have_one_revision_despite_writes_in_between(opened: Open) -> None:
    store = opened(StorageLimits(recent_changes=20))
    states = await churn(store, 60)
    revision = store.revision
    for _ in range(5):
        assert state(store.list_at("pods", "", revision)) == states[revision]
        await churn(store, 40)
