"""Writes: acceptance, visibility, conflicts."""

from __future__ import annotations

import asyncio
import pathlib

import pytest
from tests.embedded.apiserver.storage.conftest import Open
from tests.embedded.apiserver.storage.stored_objects import body, decoded, describe, pod, text

from traincrew.embedded.apiserver.storage.errors import RevisionConflict, StoreUnavailable
from traincrew.embedded.apiserver.storage.records import Key, SelectableFields
from traincrew.embedded.apiserver.storage.store import Store


async def test_a_put_returns_when_the_state_is_durable_and_visible(opened: Open) -> None:
    store = opened()
    record = await store.put(pod("a"), body(pod("a"), "one", job="x"), expect=0)
    assert store.get(pod("a")) is record
    assert store.head(pod("a")) is record
    assert store.revision == record.revision
    assert text(record) == "one"
    assert record.selectable == SelectableFields({"job": "x"}, {"metadata.name": "a"})


async def test_accepted_writes_are_visible_to_writers_and_not_to_readers(opened: Open) -> None:
    store = opened()
    writing = asyncio.create_task(store.put(pod("a"), body(pod("a"), "one")))
    await asyncio.sleep(0)
    assert store.get(pod("a")) is None
    assert store.list("pods") == []
    assert text(store.head(pod("a"))) == "one"
    await writing
    assert text(store.get(pod("a"))) == "one"


async def test_one_of_two_writes_that_expect_the_same_revision_succeeds(opened: Open) -> None:
    store = opened()
    first = await store.put(pod("a"), body(pod("a"), "old"))
    outcomes = await asyncio.gather(
        *(store.put(pod("a"), body(pod("a"), str(number)), first.revision) for number in range(20)), return_exceptions=True
    )
    lost = [outcome for outcome in outcomes if isinstance(outcome, RevisionConflict)]
    assert len(lost) == 19
    assert text(store.get(pod("a"))) == "0"
    assert all(stale.current and stale.current.revision == first.revision + 1 for stale in lost)


async def test_one_of_two_concurrent_creates_succeeds(opened: Open) -> None:
    store = opened()
    outcomes = await asyncio.gather(
        store.put(pod("a"), body(pod("a"), "one"), 0), store.put(pod("a"), body(pod("a"), "two"), 0), return_exceptions=True
    )
    assert isinstance(outcomes[1], RevisionConflict)
    assert text(store.get(pod("a"))) == "one"


async def test_a_rejected_write_changes_neither_object_nor_revision(opened: Open) -> None:
    store = opened()
    await store.put(pod("a"), body(pod("a")))
    revision = store.revision
    rejected = body(pod("a"))
    with pytest.raises(RevisionConflict):
        await store.put(pod("a"), rejected, expect=revision - 1)
    assert "resourceVersion" not in rejected["metadata"]
    assert (await store.put(pod("a"), rejected)).revision == revision + 1


async def test_a_deletion_has_the_last_state_at_its_own_revision(opened: Open) -> None:
    store = opened()
    first = await store.put(pod("a"), body(pod("a"), "last", job="x"))
    with pytest.raises(RevisionConflict):
        await store.delete(pod("a"), expect=first.revision - 1)
    gone = await store.delete(pod("a"), expect=first.revision)
    assert gone.revision == first.revision + 1 == store.revision
    assert decoded(gone)["spec"] == {"text": "last"}
    assert gone.selectable == first.selectable
    assert store.get(pod("a")) is store.head(pod("a")) is None


async def test_missing_objects_cannot_be_deleted(opened: Open) -> None:
    store = opened()
    with pytest.raises(RevisionConflict) as stale:
        await store.delete(pod("a"))
    assert stale.value.current is None


async def test_concurrent_create_delete_and_create_keep_their_order(opened: Open) -> None:
    store = opened()
    key = pod("a")
    watch = store.watch("pods", "", store.revision)
    await asyncio.gather(store.put(key, body(key, "1"), 0), store.delete(key), store.put(key, body(key, "2"), 0))
    assert [(await anext(watch)).type for _ in range(3)] == ["ADDED", "DELETED", "ADDED"]
    assert text(store.get(key)) == "2"


async def test_cancelling_one_wait_undoes_no_write_and_affects_no_other(opened: Open) -> None:
    store = opened()
    tasks = [asyncio.create_task(store.put(pod(f"p{number}"), body(pod(f"p{number}")))) for number in range(30)]
    await asyncio.sleep(0)
    for task in tasks[::3]:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(outcome, asyncio.CancelledError) for outcome in outcomes] == [number % 3 == 0 for number in range(30)]
    await store.put(pod("last"), body(pod("last")))
    assert store.count("pods") == 31


async def test_lists_are_in_the_order_of_etcd_s_keys(opened: Open) -> None:
    store = opened()
    keys = [pod("b", "a"), pod("a", "a-b"), pod("a", "a"), pod("c", "b"), pod("a.x", "a"), pod("a-x", "a")]
    await asyncio.gather(*(store.put(key, body(key)) for key in keys))
    await store.put(Key("nodes", "", "n"), body(Key("nodes", "", "n")))
    names = [f"{record.key.namespace}/{record.key.name}" for record in store.list("pods")]
    assert names == sorted(names) == ["a-b/a", "a/a", "a/a-x", "a/a.x", "a/b", "b/c"]
    assert [record.key.name for record in store.list("pods", "a")] == ["a", "a-x", "a.x", "b"]
    assert store.list("pods", "nowhere") == []
    assert (store.count("pods"), store.count("nodes"), store.resources()) == (6, 1, ["nodes", "pods"])


async def test_a_restart_changes_nothing(opened: Open) -> None:
    store = opened()
    for number in range(20):
        await store.put(pod(f"p{number}"), body(pod(f"p{number}"), "old"))
    await asyncio.gather(*(store.put(pod(f"p{number}"), body(pod(f"p{number}"), "new", n=str(number))) for number in range(10)))
    await asyncio.gather(*(store.delete(pod(f"p{number}")) for number in range(5, 15)))
    before = [(record.key, record.revision, record.value) for record in store.list("pods")]
    revision = store.revision
    await store.close()
    again = opened()
    assert [(record.key, record.revision, record.value) for record in again.list("pods")] == before
    assert again.revision == revision
    assert (await again.put(pod("next"), body(pod("next")))).revision == revision + 1
    assert [record.selectable for record in again.list("pods")] == [
        describe("pods", decoded(record)) for record in again.list("pods")
    ]


async def test_accepted_writes_are_written_before_the_close(opened: Open) -> None:
    store = opened()
    writes = [asyncio.create_task(store.put(pod(f"p{number}"), body(pod(f"p{number}")))) for number in range(300)]
    await asyncio.sleep(0)
    await store.close()
    assert len(await asyncio.gather(*writes)) == 300
    with pytest.raises(StoreUnavailable):
        await store.put(pod("late"), body(pod("late")))
    assert opened().count("pods") == 300


async def test_the_representation_of_a_record_omits_its_value(opened: Open) -> None:
    store = opened()
    secret = await store.put(Key("secrets", "default", "s"), body(pod("s"), "very secret"))
    assert "very secret" not in repr(secret)


async def test_selectable_fields_can_be_recomputed(path: pathlib.Path) -> None:
    word = "one"
    store = Store.open(path, lambda resource, value: SelectableFields({}, {"word": word}))
    record = await store.put(pod("a"), body(pod("a")))
    word = "two"
    assert record.selectable.fields == {"word": "one"}
    store.reindex("pods")
    assert record.selectable.fields == {"word": "two"}
    await store.close()
