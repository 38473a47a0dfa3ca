"""A database connection of the history, in a thread."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Protocol

from traincrew import errors
from traincrew.history import schema


class LostConnection(errors.StoreError):
    """The server of the database has ended the connection. A new one may be possible."""


class HistoryDatabase(Protocol):
    """Not thread-safe. Every method raises StoreError."""

    name: str
    """For messages; without a password."""
    blob: str
    """The type of bytes."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Values stand for `?`."""
        ...

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]]) -> None: ...

    def transaction(self) -> contextlib.AbstractContextManager[None]: ...

    def migrating(self) -> contextlib.AbstractContextManager[None]:
        """Other processes do not migrate the database meanwhile."""
        ...

    def has_table(self, name: str) -> bool: ...

    def size(self) -> int:
        """Bytes in use."""
        ...

    def release(self) -> None:
        """Give the space of removed rows back."""
        ...

    def close(self) -> None: ...


def migrate(database: HistoryDatabase) -> None:
    with database.migrating():
        for number in range(version(database) + 1, len(schema.MIGRATIONS) + 1):
            with database.transaction():
                _migrate_to(database, number)


def _migrate_to(database: HistoryDatabase, number: int) -> None:
    if number == 1:
        database.execute("CREATE TABLE history_schema (version BIGINT NOT NULL)")
        database.execute("INSERT INTO history_schema VALUES (0)")
    for statement in schema.MIGRATIONS[number - 1]:
        database.execute(statement.format(blob=database.blob))
    database.execute("UPDATE history_schema SET version = ?", (number,))


def version(database: HistoryDatabase) -> int:
    """0: the database is new. Raise StoreError if a newer version has written it."""
    if not database.has_table("history_schema"):
        return 0
    found = int(database.execute("SELECT version FROM history_schema")[0][0])
    if found > len(schema.MIGRATIONS):
        raise errors.StoreError(
            f"{database.name} was written by a newer version of traincrew (schema version {found}; this version supports up to "
            f"{len(schema.MIGRATIONS)}). Use that version, or another database."
        )
    return found
