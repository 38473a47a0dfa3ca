"""The tables of the data file, with migrations: a file of an earlier version is migrated when it is opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from traincrew.errors import StoreError

# `previous` is the revision that a change supersedes; 0: the object is new. It replaces an index by key, which every write would
# have to update: the current state is the rows that no other row names, and history is followed from row to row.
# A deletion has no value. Up to `compacted` history may be incomplete; up to `swept` all superseded states are removed.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE changes (
             revision INTEGER PRIMARY KEY,
             previous INTEGER NOT NULL,
             resource TEXT NOT NULL,
             namespace TEXT NOT NULL,
             name TEXT NOT NULL,
             value BLOB
           )""",
        # The first revision is 2: clients must not confuse it with 0, which means "any".
        "INSERT INTO meta VALUES ('compacted', 1), ('swept', 1)",
    ),
)

APPLICATION = 0x7C4E3A11
"""Identifies our files among those of other programs that use SQLite."""


def migrate(connection: sqlite3.Connection, path: object, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    version = readable_version(connection, path, len(migrations))
    for number, statements in enumerate(migrations[version:], start=version + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if number == 1:
                connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (number,))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def readable_version(connection: sqlite3.Connection, path: object, newest: int = len(MIGRATIONS)) -> int:
    """0 for a new file. Changes nothing: the file may belong to another program."""
    if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        return 0
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise StoreError(f"{path} is a database of another program. Use another data directory.")
    version = stored(connection, path)["schema"]
    if version > newest:
        why = f"schema version {version}; this version supports up to {newest}"
        raise StoreError(
            f"{path} was written by a newer version of traincrew ({why}). Use that version, or another data directory."
        )
    return version


def stored(connection: sqlite3.Connection, path: object) -> dict[str, int]:
    values = dict(connection.execute("SELECT name, value FROM meta"))
    if not {"schema", "compacted", "swept"} <= values.keys():
        raise StoreError(f"{path} is damaged: the compacted revision is missing")
    return values
