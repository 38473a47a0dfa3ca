"""Disks that are full, files that cannot be written: told clearly, nothing acknowledged lost, better by itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
from collections.abc import Iterator

import pytest
from tests.embedded.apiserver.storage.conftest import Open
from tests.embedded.apiserver.storage.sample import body, pod, text
from tests.embedded.apiserver.storage.shortage import Shortage, file_size_limit, full_disk, immutable, small_file_system

from traincrew.embedded.apiserver.storage.errors import StoreUnavailable
from traincrew.embedded.apiserver.storage.records import Record
from traincrew.embedded.apiserver.storage.store import Store
from traincrew.errors import StoreError


@pytest.fixture(params=["full disk", "file size limit"])
def shortage(request: pytest.FixtureRequest, path: pathlib.Path) -> Iterator[Shortage]:
    if request.param == "file size limit":
        yield file_size_limit
        return
    with small_file_system(path.parent):
        yield full_disk


async def storm(store: Store, tag: str) -> tuple[list[Record], list[BaseException]]:
    """Many writes at once, several of each object."""
    names = [f"p{number % 30}" for number in range(400)]
    writes = (store.put(pod(name), body(pod(name), f"{tag}-{number}" + "x" * 4000)) for number, name in enumerate(names))
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    done = [outcome for outcome in outcomes if isinstance(outcome, Record)]
    return done, [outcome for outcome in outcomes if isinstance(outcome, BaseException)]


def state(store: Store) -> dict[str, bytes]:
    return {record.key.name: record.value for record in store.list("pods")}


async def test_without_space_writes_fail_clearly_and_with_space_they_go_on(
    opened: Open, path: pathlib.Path, shortage: Shortage
) -> None:
    store = opened()
    feed = store.watch("pods", "", store.revision)
    acknowledged = [await store.put(pod(f"p{number}"), body(pod(f"p{number}"), "first")) for number in range(30)]
    with shortage(path.parent) as relieve:
        refused: list[BaseException] = []
        while not refused:
            done, refused = await storm(store, "storm")
            acknowledged += done
        assert {type(each) for each in refused} == {StoreUnavailable}
        assert str(refused[0]).startswith(f"{path} cannot be written: ")
        last = {record.key.name: record for record in acknowledged}
        assert state(store) == {name: record.value for name, record in last.items()}
        assert all(store.head(record.key) is record for record in last.values())
        revision = store.revision
        assert revision == max(record.revision for record in acknowledged)
        relieve()
        acknowledged.append(await store.put(pod("after"), body(pod("after"), "relieved")))
    assert store.revision > revision
    acknowledged += (await storm(store, "again"))[0]
    message = [(await anext(feed)).revision for _ in acknowledged]
    assert message == sorted({record.revision for record in acknowledged})
    expected = state(store)
    await store.close()
    again = opened()
    assert state(again) == expected
    assert again.revision == max(message)
    assert text(again.get(pod("after"))) == "relieved"


async def test_a_full_disk_at_the_start_is_told_and_nothing_is_lost(opened: Open, path: pathlib.Path) -> None:
    with small_file_system(path.parent):
        store = opened()
        await store.put(pod("a"), body(pod("a"), "kept"))
        await store.close()
        with full_disk(path.parent), pytest.raises(StoreError, match="no space left on the file system"):
            opened()
        again = opened()
        assert text(again.get(pod("a"))) == "kept"
        await again.close()


async def test_a_file_that_became_read_only_is_told_and_written_again_when_it_can_be(opened: Open, path: pathlib.Path) -> None:
    store = opened()
    kept = await store.put(pod("a"), body(pod("a"), "kept"))
    with immutable([path, path.with_name("state.db-wal")]):
        with pytest.raises(StoreUnavailable, match=r"state\.db cannot be written"):
            await store.put(pod("a"), body(pod("a"), "refused"))
        assert store.get(pod("a")) is store.head(pod("a")) is kept
        assert (await anext(store.watch("pods", "", 1))).record is kept
    await store.put(pod("a"), body(pod("a"), "written"))
    await store.close()
    assert text(opened().get(pod("a"))) == "written"


async def test_writes_that_build_on_a_failed_one_fail_with_it(opened: Open, path: pathlib.Path) -> None:
    store = opened()
    kept = await store.put(pod("a"), body(pod("a")))
    os.rename(path, f"{path}-elsewhere")
    kept, given = await last_before_the_failure(store, kept)
    for number in range(3):
        # Each round is accepted at once, and each write builds on the one before.
        expected = [kept.revision, *range(given + 1, given + 5)]
        writes = [store.put(pod("a"), body(pod("a"), str(number)), expect) for expect in expected]
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 5
        assert "was removed or replaced while it was open" in str(outcomes[0])
        assert store.head(pod("a")) is store.get(pod("a")) is kept
        given += 5
    os.rename(f"{path}-elsewhere", path)
    assert (await store.put(pod("a"), body(pod("a"), "again"), kept.revision)).revision == given + 1


async def last_before_the_failure(store: Store, kept: Record) -> tuple[Record, int]:
    """The state that stays, and the highest revision given away. The file is looked at only now and then."""
    value = body(pod("a"))
    with contextlib.suppress(StoreUnavailable):
        while True:
            kept = await store.put(pod("a"), value)
    return kept, int(value["metadata"]["resourceVersion"])
