"""The history in a SQLite file."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from traincrew import errors

APPLICATION = 0x7C4E3A12
"""Identifies our files among those of other programs that use SQLite."""
BUSY_SECONDS = 10.0
WAL_PAGES = 256
_REASONS = {
    "SQLITE_FULL": "no space is left on the file system. Free some space",
    "SQLITE_READONLY": "the file is not writable. Change its permissions",
    "SQLITE_CANTOPEN": "the file cannot be opened. Check the permissions of its directory",
    "SQLITE_BUSY": "the file is locked by another program. End that program",
    "SQLITE_NOTADB": "the file is damaged, or not a history. Move it away; the recorder then starts a new one",
    "SQLITE_CORRUPT": "the file is damaged. Move it away; the recorder then starts a new one",
}


class SqliteDatabase:
    blob = "BLOB"

    def __init__(self, path: pathlib.Path, *, writable: bool = True) -> None:
        self.name, self._path = str(path), path
        with self._errors():
            if writable:
                # The file has what jobs print and say. SQLite gives its other files the same mode.
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            target = f"{path.absolute().as_uri()}?mode={'rw' if writable else 'ro'}"
            self._connection = sqlite3.connect(
                target, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(writable=writable)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, *, writable: bool) -> None:
        tables = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        owner = self._connection.execute("PRAGMA application_id").fetchone()[0]
        if tables and owner != APPLICATION:
            raise errors.StoreError(f"{self.name} is a database of another program. Choose another file.")
        self._connection.execute("PRAGMA cache_size = -512")
        if not writable:
            self._connection.execute("PRAGMA query_only = ON")
            return
        if not tables:
            self._connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self._connection.execute("PRAGMA journal_mode = WAL")
        # After a crash of the machine, not of the process, the last seconds may be missing. The API server has the present state.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._errors():
            return self._connection.execute(statement, values).fetchall()

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._errors():
            self._connection.executemany(statement, rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")

    @contextlib.contextmanager
    def migrating(self) -> Iterator[None]:
        yield  # one recorder writes the file

    def has_table(self, name: str) -> bool:
        return bool(self.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,)))

    def size(self) -> int:
        pages, free, size = (self.execute(f"PRAGMA {each}")[0][0] for each in ("page_count", "freelist_count", "page_size"))
        return int((pages - free) * size)

    def release(self) -> None:
        self.execute("PRAGMA incremental_vacuum")

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            found = getattr(error, "sqlite_errorname", "") or ""
            reason = next((words for prefix, words in _REASONS.items() if found.startswith(prefix)), "")
            raise errors.StoreError(f"history {self.name}: {f'{reason} ({error})' if reason else error}.") from error
        except OSError as error:
            raise errors.StoreError(f"history {self.name}: {error.strerror or error}.") from error
