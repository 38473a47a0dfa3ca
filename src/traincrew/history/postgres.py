"""The history in a PostgreSQL database, for several consoles of one cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from traincrew import errors
from traincrew.history.database import LostConnection

try:
    import psycopg
    from psycopg import conninfo
except ImportError:
    raise errors.StoreError(
        "a history in PostgreSQL needs the package psycopg. Install it with `pip install 'traincrew[postgres]'`."
    ) from None

CONNECTION = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Defaults of libpq's parameters: a server whose machine has lost power is noticed within a minute, not after a quarter of an
hour. The last one is in milliseconds, the others in seconds."""
STATEMENT_MILLISECONDS = 60_000
MIGRATION_LOCK = 0x7C4E3A12
"""Of the recorders of this database, one at a time creates its tables."""
_ROW_BYTES = 64
"""What a row needs beside its object: header, other columns and index, rounded."""
_TABLES = {"jobs": "object", "statuses": "status", "pods": "object", "events": "object", "logs": "lines", "samples": "''"}
_REASONS: tuple[tuple[type[psycopg.Error], str], ...] = (
    (psycopg.errors.DuplicateTable, "it has tables of another program. Choose another database, or a schema of its own"),
    (psycopg.errors.InsufficientPrivilege, "the user may not do this. Grant the rights on the tables of the history"),
    (psycopg.errors.ReadOnlySqlTransaction, "the server does not accept writes. Name the primary server in the URL"),
    (psycopg.errors.DiskFull, "no space is left on the server. Free some space"),
    (psycopg.errors.QueryCanceled, "the server did not answer within a minute. Look at its load"),
)


class PostgresDatabase:
    blob = "BYTEA"

    def __init__(self, url: str, *, writable: bool = True) -> None:
        """url: as libpq reads it. What it leaves out comes from the environment (PGPASSWORD, PGSSLROOTCERT and others)."""
        self.name = _name(url)
        with self._errors("cannot connect"):
            self._connection = psycopg.connect(
                _with_timeouts(url),
                autocommit=True,
                application_name="traincrew",
                prepare_threshold=None,
                client_encoding="UTF8",  # else texts of a database in SQL_ASCII, the default of the locale C, are bytes
            )
        with self._errors():
            self._connection.execute(f"SET statement_timeout = {STATEMENT_MILLISECONDS}")
            if not writable:
                self._connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._errors():
            done = self._connection.execute(_placed(statement), values)
            return done.fetchall() if done.description else []

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with self._errors(), self._connection.cursor() as cursor:
                cursor.executemany(_placed(statement), rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        with self._errors(), self._connection.transaction():
            yield

    @contextlib.contextmanager
    def migrating(self) -> Iterator[None]:
        self.execute("SELECT pg_advisory_lock(?)", (MIGRATION_LOCK,))
        try:
            yield
        finally:
            if not self._connection.closed:
                self.execute("SELECT pg_advisory_unlock(?)", (MIGRATION_LOCK,))

    def has_table(self, name: str) -> bool:
        return self.execute("SELECT to_regclass(?) IS NOT NULL", (name,)) == [(True,)]

    def size(self) -> int:
        """Of the rows that exist: the server keeps the space of removed rows for new ones, and files do not shrink.

        The length of a large value is known without reading it.
        """
        length = f"coalesce(sum(octet_length({{}}) + {_ROW_BYTES}), 0)"
        parts = (f"(SELECT {length.format(column)} FROM {name})" for name, column in _TABLES.items())
        return int(self.execute(f"SELECT {' + '.join(parts)}")[0][0])

    def release(self) -> None:
        """Autovacuum of the server does it."""

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _errors(self, doing: str = "") -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            words = " ".join(str(error).split()).rstrip(".")
            reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), doing)
            message = f"history {self.name}: {f'{reason} ({words})' if reason else words}."
            is_lost = not doing and self._connection.closed
            raise (LostConnection if is_lost else errors.StoreError)(message) from error


def _name(url: str) -> str:
    """Without the password. Raise StoreError."""
    try:
        found = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # its message may have parts of the password
        raise errors.StoreError(
            "the URL of the history is not one of PostgreSQL. Write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and "
            "write special characters of the password as %XX."
        ) from None
    user, host = found.get("user") or "", found.get("host") or ""
    port = f":{found['port']}" if found.get("port") else ""
    return f"postgresql://{f'{user}@' if user else ''}{host}{port}/{found.get('dbname') or ''}"


def _with_timeouts(url: str) -> str:
    given = conninfo.conninfo_to_dict(url)
    return conninfo.make_conninfo(url, **{name: value for name, value in CONNECTION.items() if name not in given})


def _placed(statement: str) -> str:
    """Statements are constants of this package, with `?` for values and without `%`."""
    return statement.replace("?", "%s")
