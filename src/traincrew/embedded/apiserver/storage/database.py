"""The data file: open, write, read, compact. Nothing here uses the event loop."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from traincrew.embedded.apiserver.storage.database_schema import migrate, readable_version, stored
from traincrew.embedded.apiserver.storage.errors import StoreUnavailable
from traincrew.embedded.apiserver.storage.lock import Lock
from traincrew.embedded.apiserver.storage.records import GetSelectableFields, Key, Record, StorageLimits
from traincrew.errors import StoreError

PAGE = 8192
WAL_PAGES = 2048
SWEEP = 500

Row = tuple[int, int, str, str, str, bytes | None]


class DatabaseMeta(NamedTuple):
    revision: int
    compacted: int
    swept: int


class Database:
    """The connection that writes. Created in one thread and used by another, never by two at once."""

    def __init__(self, path: Path, limits: StorageLimits, *, used: bool = False) -> None:
        """used: the file has had content. If it exists without any, it is damaged."""
        self.path = path
        used = used and path.exists()
        self._lock = _lock_file(path)
        try:
            with sqlite_errors_as_store_errors(path):
                self._connection = _connect(path, limits.group_changes, used=used)
                migrate(self._connection, path)
            self._file = _identity(path)
        except BaseException:
            self._lock.release()
            raise

    def meta(self) -> DatabaseMeta:
        values = stored(self._connection, self.path)
        newest = self._connection.execute("SELECT max(revision) FROM changes").fetchone()[0] or 0
        # The newest change may be a deletion that was swept: its revision must not be assigned again.
        return DatabaseMeta(max(newest, values["compacted"]), values["compacted"], values["swept"])

    def current(self, get_selectable: GetSelectableFields) -> Iterator[Record]:
        rows = self._connection.execute(
            "SELECT revision, resource, namespace, name, value FROM changes"
            " WHERE value IS NOT NULL AND revision NOT IN (SELECT previous FROM changes)"
        )
        intern = sys.intern
        for revision, resource, namespace, name, value in rows:
            yield Record(Key(intern(resource), intern(namespace), name), revision, value, get_selectable)

    def bytes_kept(self) -> int:
        return int(self._connection.execute("SELECT total(length(value)) FROM changes").fetchone()[0])

    def write(self, rows: Sequence[Row]) -> None:
        """One statement for all rows: one transaction, and the interpreter's lock is released once."""
        self._roll_back()
        self._insert(rows)

    def write_after(self, durable: int, rows: Sequence[Row]) -> None:
        """After a failed commit: its rows may be in the file although their writers got an error."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM changes WHERE revision > ?", (durable,))
            self._insert(rows)

    def sweep(self, after: int, compacted: int) -> int:
        """Removes states superseded between two revisions, a batch at a time; returns the revision reached."""
        upto = min(after + SWEEP, compacted)
        within = "revision > ? AND revision <= ?"
        with self._transaction() as connection:
            connection.execute(
                f"DELETE FROM changes WHERE revision IN (SELECT previous FROM changes WHERE {within})", (after, upto)
            )
            connection.execute(f"DELETE FROM changes WHERE value IS NULL AND {within}", (after, upto))
            new = {"compacted": compacted, "swept": upto}
            connection.executemany("UPDATE meta SET value = ? WHERE name = ?", [(value, name) for name, value in new.items()])
        return upto

    def check_file(self) -> None:
        """SQLite keeps writing to a file that was removed or replaced."""
        if _identity(self.path) != self._file:
            raise StoreUnavailable(f"{self.path} was removed or replaced while it was open. Restart the cluster.")

    def close(self) -> None:
        # Closing checkpoints the write-ahead log; on a full disk the next start does it.
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._lock.release()

    def _insert(self, rows: Sequence[Row]) -> None:
        statement = "INSERT INTO changes VALUES " + ",".join(["(?,?,?,?,?,?)"] * len(rows))
        self._connection.execute(statement, [column for row in rows for column in row])

    def _roll_back(self) -> None:
        """Inside a transaction that was left open, nothing would become durable."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._roll_back()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        finally:
            self._roll_back()


def _lock_file(path: Path) -> Lock:
    lock = Lock(path)
    try:
        # The file holds secrets. SQLite gives its other files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        directory = os.open(path.parent, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
    except OSError as error:
        lock.release()
        raise StoreError(f"{path}: {error.strerror}") from None
    return lock


def _connect(path: Path, statements: int, *, used: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=5.0, isolation_level=None, check_same_thread=False, cached_statements=statements + 16
    )
    if not readable_version(connection, path) and used:
        connection.close()
        raise StoreError(f"{path} is empty, though a cluster was started here before. {_REMEDY}")
    connection.execute(f"PRAGMA page_size = {PAGE}")
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise StoreError(
            f"{path}: this file system does not support a write-ahead log (no shared memory). Use a local file system."
        )
    for pragma in (
        "synchronous = FULL",
        "fullfsync = ON",
        f"wal_autocheckpoint = {WAL_PAGES}",
        f"journal_size_limit = {4 * WAL_PAGES * PAGE}",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def sqlite_errors_as_store_errors(path: Path) -> Iterator[None]:
    """Translates errors of SQLite while a file is opened."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {explain(error, path)}") from error


def explain(error: sqlite3.Error, path: Path) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_IOERR") and _disk_full(path):
        name = "SQLITE_FULL"  # the error depends on which of its files SQLite could not extend
    for prefix, words in _REASONS.items():
        if name.startswith(prefix):
            return f"{words} ({error})"
    return f"{error} ({name})" if name else str(error)


def _disk_full(path: Path) -> bool:
    try:
        status = os.statvfs(path.parent)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < 2**16


_REMEDY = "Restore a backup of the file, or remove it to start a new cluster."

_REASONS = {
    "SQLITE_FULL": "no space left on the file system",
    "SQLITE_READONLY": "the file is not writable",
    "SQLITE_PERM": "the file is not writable",
    "SQLITE_CANTOPEN": "the file cannot be opened",
    "SQLITE_BUSY": "the file is locked by another program",
    "SQLITE_NOTADB": "the file is damaged or not a data file of traincrew. Move it away or restore a backup.",
    "SQLITE_CORRUPT": "the file is damaged. Restore a backup, or move it away to start a new cluster.",
    "SQLITE_IOERR": "the file system reports an error",
}
