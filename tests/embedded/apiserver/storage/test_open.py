"""Opening the data file: valid files, and an error that explains why a file is rejected."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import stat
from collections.abc import Iterator

import pytest
from tests.embedded.apiserver.storage.conftest import Open
from tests.embedded.apiserver.storage.stored_objects import body, pod, text

from traincrew.embedded.apiserver.storage import database_schema
from traincrew.embedded.apiserver.storage.database import Database
from traincrew.embedded.apiserver.storage.records import StorageLimits
from traincrew.errors import StoreError, UserError


async def filled(opened: Open, count: int = 50) -> None:
    store = opened()
    for number in range(count):
        await store.put(pod(f"p{number}"), body(pod(f"p{number}"), "x" * 3000))
    await store.close()


def content(path: pathlib.Path) -> bytes:
    return path.read_bytes()


def overwrite(path: pathlib.Path, data: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


@contextlib.contextmanager
def connected(path: pathlib.Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def open_error(opened: Open) -> str:
    with pytest.raises(StoreError) as error:
        opened()
    assert isinstance(error.value, UserError)
    return str(error.value)


async def test_a_new_file_is_for_its_owner_alone(opened: Open, path: pathlib.Path) -> None:
    store = opened()
    await store.put(pod("a"), body(pod("a")))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(("state.db", "state.db-wal", "state.db-shm", "state.db.lock"), 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_new_store_has_a_revision_that_clients_can_watch_from(opened: Open) -> None:
    store = opened()
    assert store.revision == store.compacted == 1
    assert store.list("pods") == store.list_at("pods", "", 1) == []


def test_every_commit_reaches_the_disk(path: pathlib.Path) -> None:
    database = Database(path, StorageLimits())
    full = 2
    assert database._connection.execute("PRAGMA synchronous").fetchone() == (full,)
    assert database._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()


async def test_a_file_in_use_is_rejected_and_free_after_the_close(opened: Open, path: pathlib.Path) -> None:
    store = opened()
    assert open_error(opened) == f"{path} is in use by process {os.getpid()}: stop that process first"
    await store.close()
    assert opened().revision == 1


async def test_a_newer_schema_is_rejected_unchanged(opened: Open, path: pathlib.Path) -> None:
    await filled(opened)
    with connected(path) as connection:
        connection.execute("UPDATE meta SET value = 99 WHERE name = 'schema'")
    untouched = content(path)
    assert "was written by a newer version of traincrew (schema version 99" in open_error(opened)
    assert content(path) == untouched


async def test_an_older_schema_is_migrated_completely_or_not_at_all(opened: Open, path: pathlib.Path) -> None:
    await filled(opened, 3)
    newer = (*database_schema.MIGRATIONS, ("CREATE TABLE extra (x)",), ("INSERT INTO extra VALUES (7)",))
    with connected(path) as connection:
        with pytest.raises(sqlite3.OperationalError):
            database_schema.migrate(connection, path, (*newer, ("CREATE TABLE more (x)", "not a statement")))
        assert database_schema.stored(connection, path)["schema"] == 3
        assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'more'").fetchone() == (0,)
        database_schema.migrate(connection, path, newer)
        assert connection.execute("SELECT x FROM extra").fetchall() == [(7,)]
        assert connection.execute("SELECT count(*) FROM changes").fetchone() == (3,)


async def test_a_file_that_is_not_a_database_is_rejected_unchanged(opened: Open, path: pathlib.Path) -> None:
    overwrite(path, b"a: b\n" * 1000)
    assert "the file is damaged or not a data file of traincrew" in open_error(opened)
    assert content(path) == b"a: b\n" * 1000


async def test_a_database_of_another_program_is_rejected(opened: Open, path: pathlib.Path) -> None:
    path.parent.mkdir()
    with connected(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    untouched = content(path)
    assert open_error(opened) == f"{path} is a database of another program. Use another data directory."
    assert content(path) == untouched


@pytest.mark.parametrize("torn", [0.1, 0.5, 0.9])
async def test_a_damaged_file_is_rejected(opened: Open, path: pathlib.Path, torn: float) -> None:
    await filled(opened, 200)
    damaged = bytearray(content(path))
    start = int(len(damaged) * torn) // 8192 * 8192
    damaged[start : start + 16384] = b"\xee" * 16384
    overwrite(path, bytes(damaged))
    assert "is damaged" in open_error(opened)


async def test_a_file_without_metadata_is_rejected(opened: Open, path: pathlib.Path) -> None:
    await filled(opened, 1)
    with connected(path) as connection:
        connection.execute("DELETE FROM meta WHERE name = 'compacted'")
    assert "is damaged" in open_error(opened)


@contextlib.contextmanager
def unprivileged(directory: pathlib.Path, *, may_add_files: bool = False) -> Iterator[None]:
    """Drops the permissions of root. With `may_add_files`, new files in the directory are allowed."""
    if os.geteuid():
        yield
        return
    modes = dict.fromkeys(directory.parents, 0o011) | {directory: 0o033 if may_add_files else 0o011}
    above = {parent: mode for parent in modes if (mode := parent.stat().st_mode) & modes[parent] != modes[parent]}
    for parent, mode in above.items():
        parent.chmod(stat.S_IMODE(mode) | modes[parent])
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for parent, mode in above.items():
            parent.chmod(stat.S_IMODE(mode))


async def test_a_directory_that_is_not_writable_is_rejected(opened: Open, path: pathlib.Path) -> None:
    path.parent.mkdir(mode=0o555)
    with unprivileged(path.parent):
        assert open_error(opened) == f"{path}.lock: Permission denied"


async def test_a_read_only_file_is_rejected(opened: Open, path: pathlib.Path) -> None:
    await filled(opened, 1)
    os.unlink(f"{path}.lock")
    os.chmod(path, 0o444)
    with unprivileged(path.parent, may_add_files=True):
        assert open_error(opened) == f"{path}: Permission denied"
    os.chmod(path, 0o600)
    assert text(opened().get(pod("p0"))) == "x" * 3000


async def test_a_directory_in_place_of_the_file_is_rejected(opened: Open, path: pathlib.Path) -> None:
    os.makedirs(path)
    assert open_error(opened) == f"{path}: Is a directory"
