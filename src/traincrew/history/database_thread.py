"""A store in a thread of its own, so that a slow disk or database never blocks the event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pathlib
from collections.abc import Callable
from typing import TypeVar

from traincrew import errors
from traincrew.history import database, locations, sqlite
from traincrew.history.store import HistoryStore

T = TypeVar("T")


def open_store(location: str, *, writable: bool) -> HistoryStore:
    """location: the path of a SQLite file, or the URL of a PostgreSQL database. Raise StoreError."""
    found = open_database(location, writable=writable)
    try:
        if writable:
            database.migrate(found)
        elif database.version(found) == 0:
            raise errors.StoreError(f"history {found.name}: nothing is recorded yet.")
    except BaseException:
        found.close()
        raise
    return HistoryStore(found)


def open_database(location: str, *, writable: bool) -> database.HistoryDatabase:
    if locations.scheme(location) not in locations.POSTGRES_SCHEMES:
        return sqlite.SqliteDatabase(pathlib.Path(location), writable=writable)
    from traincrew.history import postgres  # an extra, which few need

    return postgres.PostgresDatabase(location, writable=writable)


class DatabaseThread:
    """Opens the store with the first call, and again after an error: a file that was moved away is replaced by a new one."""

    def __init__(self, location: str, *, writable: bool) -> None:
        self._location, self._writable = location, writable
        self._store: HistoryStore | None = None
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "history")

    async def call(self, function: Callable[[HistoryStore], T]) -> T:
        """Raise StoreError."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, function)

    def _call(self, function: Callable[[HistoryStore], T]) -> T:
        try:
            return self._try(function)
        except database.LostConnection:
            return self._try(function)  # the server was restarted since the last call; all writes can be repeated

    def _try(self, function: Callable[[HistoryStore], T]) -> T:
        if self._store is None:
            self._store = open_store(self._location, writable=self._writable)
        try:
            return function(self._store)
        except errors.StoreError:
            self._close()
            raise

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)
