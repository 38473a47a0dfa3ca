"""The history in a SQLite file: damaged and foreign files are refused with a remedy, and only the user can read it."""

from __future__ import annotations

import os
import pathlib
import sqlite3

import pytest

from traincrew import errors
from traincrew.history import database_thread
from traincrew.history.database_thread import DatabaseThread


@pytest.fixture
def location(tmp_path: pathlib.Path) -> str:
    return os.fspath(tmp_path / "history.db")


@pytest.mark.parametrize("content", [b"not a database at all, " * 100, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_file_is_refused_with_a_remedy(location: str, content: bytes) -> None:
    pathlib.Path(location).write_bytes(content)
    with pytest.raises(errors.StoreError, match="Move it away; the recorder then starts a new one"):
        database_thread.open_store(location, writable=True)
    assert pathlib.Path(location).read_bytes() == content


def test_a_database_of_another_program_is_not_touched(location: str) -> None:
    with sqlite3.connect(location) as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    with pytest.raises(errors.StoreError, match="a database of another program"):
        database_thread.open_store(location, writable=True)


def test_a_reader_does_not_create_the_file(location: str) -> None:
    with pytest.raises(errors.StoreError, match="cannot be opened"):
        database_thread.open_store(location, writable=False)
    assert not pathlib.Path(location).exists()


def test_only_the_user_can_read_the_file(location: str) -> None:
    database_thread.open_store(location, writable=True).close()
    assert os.stat(location).st_mode & 0o777 == 0o600


@pytest.fixture
def damaged(location: str) -> pathlib.Path:
    path = pathlib.Path(location)
    path.write_bytes(b"damaged " * 100)
    return path


async def test_a_store_that_was_moved_away_is_created_again(location: str, damaged: pathlib.Path) -> None:
    thread = DatabaseThread(location, writable=True)
    with pytest.raises(errors.StoreError):
        await thread.call(lambda store: store.existing())
    os.rename(damaged, f"{location}.old")
    assert await thread.call(lambda store: store.existing()) == set()
    await thread.close()
