"""Acknowledged writes survive SIGKILL at any moment."""

from __future__ import annotations

import asyncio
import pathlib
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.embedded.apiserver.storage.conftest import Open
from tests.embedded.apiserver.storage.stored_objects import text

from traincrew import errors
from traincrew.embedded.apiserver.storage.records import RecordChange, StorageLimits
from traincrew.embedded.apiserver.storage.store import Store

ROUNDS = 10
ROOT = pathlib.Path(__file__).parents[4]


def killed_writer(path: pathlib.Path, acknowledgements: int, history: int) -> Iterator[list[str]]:
    """The lines that a writer process printed before it was killed."""
    command = [sys.executable, "-m", "tests.embedded.apiserver.storage.writer_process", str(path), str(history)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for number, line in enumerate(process.stdout):
            if number == acknowledgements:
                process.kill()
            if line.endswith("\n"):
                yield line.split()


async def changes_after(store: Store, revision: int) -> dict[int, RecordChange]:
    watch = store.watch("pods", "", revision)
    changes: dict[int, RecordChange] = {}
    while watch.position < store.revision:
        changes |= {change.revision: change for change in await watch.batch()}
    return changes


def check(acknowledged: list[list[str]], changes: dict[int, RecordChange]) -> None:
    for kind, number, name, acknowledged_text in acknowledged:
        change = changes[int(number)]
        assert change.record.key.name == name
        assert (change.type == "DELETED") == (kind == "DELETED")
        assert kind == "DELETED" or text(change.record) == acknowledged_text


@pytest.mark.parametrize("history", [100_000, 200])
async def test_every_acknowledged_write_survives_and_revisions_never_go_back(
    opened: Open, path: pathlib.Path, history: int
) -> None:
    rng = random.Random(history)
    newest = 1
    expected: dict[str, int] = {}
    for _ in range(ROUNDS):
        opening, *acknowledged = killed_writer(path, rng.randrange(1, 1500), history)
        assert int(opening[1]) == newest
        store = opened(StorageLimits(history_changes=history))
        highest = max((int(number) for _, number, *_ in acknowledged), default=newest)
        assert store.revision >= highest >= newest
        since = max(newest, store.compacted)
        changes = await changes_after(store, since)
        check([line for line in acknowledged if int(line[1]) > since], changes)
        expected |= {name: int(number) for _, number, name, _ in acknowledged}
        newest = store.revision
        current = {record.key.name: record.revision for record in store.list("pods")}
        for name, revision in expected.items():
            gone = name not in current
            assert gone or current[name] >= revision, f"{name} went back"
        replayed = replay(store, since, changes)
        assert {record.key.name: record.revision for record in store.list("pods")} == replayed
        await store.close()
    assert newest > ROUNDS


def replay(store: Store, since: int, changes: dict[int, RecordChange]) -> dict[str, int]:
    state = {record.key.name: record.revision for record in store.list_at("pods", "", since)}
    for revision, change in changes.items():
        state.pop(change.record.key.name, None)
        if change.type != "DELETED":
            state[change.record.key.name] = revision
    return state


async def test_a_second_process_gets_an_error_with_the_process_that_holds_the_file(path: pathlib.Path, opened: Open) -> None:
    command = [sys.executable, "-m", "tests.embedded.apiserver.storage.writer_process", str(path), "100"]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout
    try:
        assert (await process.stdout.readline()).startswith(b"OPEN")
        with pytest.raises(errors.StoreError, match=f"state.db is in use by process {process.pid}: stop that process first"):
            opened()
    finally:
        process.kill()
        await process.communicate()
    assert opened().revision >= 1
