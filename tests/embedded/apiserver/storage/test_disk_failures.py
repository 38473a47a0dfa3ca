"""Full disks and read-only files: errors are clear, no acknowledged write is lost, writes resume automatically."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
from collections.abc import Iterator

import pytest
from tests.embedded.apiserver.storage.conftest import Open
from tests.embedded.apiserver.storage.disk_failures import DiskFailure, file_size_limit, full_disk, immutable, small_file_system
from tests.embedded.apiserver.storage.stored_objects import body, pod, text

from traincrew.embedded.apiserver.storage.errors import StoreUnavailable
from traincrew.embedded.apiserver.storage.records import Record
from traincrew.embedded.apiserver.storage.store import Store
from traincrew.errors import StoreError


@pytest.fixture(params=["full disk", "file size limit"])
def disk_failure(request: pytest.FixtureRequest, path: pathlib.Path) -> Iterator[DiskFailure]:
    if request.param == "file size limit":
        yield file_size_limit
        return
    with small_file_system(path.parent):
        yield full_disk


async def concurrent_writes(store: Store, tag: str) -> tuple[list[Record], list[BaseException]]:
    """Many concurrent writes, several of each object."""
    names = [f"p{number % 30}" for number in range(400)]
    writes = (store.put(pod(name), body(pod(name), f"{tag}-{number}" + "x" * 4000)) for number, name in enumerate(names))
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    done = [outcome for outcome in outcomes if isinstance(outcome, Record)]
    return done, [outcome for outcome in outcomes if isinstance(outcome, BaseException)]


def state(store: Store) -> dict[str, bytes]:
    return {record.key.name: record.value for record in store.list("pods")}


async def test_writes_fail_on_a_full_disk_and_resume_with_space(
    opened: Open, path: pathlib.Path, disk_failure: DiskFailure
) -> None:
    store = opened()
    watch = store.watch("pods", "", store.revision)
    acknowledged = [await store.put(pod(f"p{number}"), body(pod(f"p{number}"), "first")) for number in range(30)]
    with disk_failure(path.parent) as relieve:
        errors: list[BaseException] = []
        while not errors:
            done, errors = await concurrent_writes(store, "storm")
            acknowledged += done
        assert {type(each) for each in errors} == {StoreUnavailable}
        assert str(errors[0]).startswith(f"{path} cannot be written: ")
        last = {record.key.name: record for record in acknowledged}
        assert state(store) == {name: record.value for name, record in last.items()}
        assert all(store.head(record.key) is record for record in last.values())
        revision = store.revision
        assert revision == max(record.revision for record in acknowledged)
        relieve()
        acknowledged.append(await store.put(pod("after"), body(pod("after"), "relieved")))
    assert store.revision > revision
    acknowledged += (await concurrent_writes(store, "again"))[0]
    revisions = [(await anext(watch)).revision for _ in acknowledged]
    assert revisions == sorted({record.revision for record in acknowledged})
    expected = state(store)
    await store.close()
    again = opened()
    assert state(again) == expected
    assert again.revision == max(revisions)
    assert text(again.get(pod("after"))) == "relieved"


async def test_a_full_disk_at_startup_is_reported_without_data_loss(opened: Open, path: pathlib.Path) -> None:
    with small_file_system(path.parent):
        store = opened()
        await store.put(pod("a"), body(pod("a"), "kept"))
        await store.close()
        with full_disk(path.parent), pytest.raises(StoreError, match="no space left on the file system"):
            opened()
        again = opened()
        assert text(again.get(pod("a"))) == "kept"
        await again.close()


async def test_writes_to_a_read_only_file_fail_and_resume_when_it_is_writable(opened: Open, path: pathlib.Path) -> None:
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
    """The state that remains, and the highest assigned revision. The file is checked only periodically."""
    value = body(pod("a"))
    with contextlib.suppress(StoreUnavailable):
        while True:
            kept = await store.put(pod("a"), value)
    return kept, int(value["metadata"]["resourceVersion"])
