"""Older changes, read from the data file by a connection of its own."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from traincrew.embedded.store.database import reason
from traincrew.embedded.store.faults import StoreUnavailable
from traincrew.embedded.store.records import Change, ChangeType, Describe, Key, Record, buried

BATCH_CHANGES = 200
BATCH_BYTES = 2 * 2**20

_CHANGES = """
  SELECT new.revision, new.resource, new.namespace, new.name, new.value, old.revision, old.value
  FROM changes new LEFT JOIN changes old ON old.revision = new.previous
  WHERE new.revision > ? AND new.revision <= ? AND new.resource = ? AND (? = '' OR new.namespace = ?)
  ORDER BY new.revision"""


class Archive:
    """Whoever asks sees to it that the range is neither compacted nor beyond what is published."""

    def __init__(self, path: Path, describe: Describe) -> None:
        self._path, self._describe = path, describe
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._reader = ThreadPoolExecutor(1, "store-archive")

    async def batch(self, resource: str, namespace: str, after: int, upto: int) -> tuple[Sequence[Change], int]:
        """Some changes in order, and the revision up to which they are complete. Read in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reader, self._batch, resource, namespace, after, upto)

    def newest_first(self, resource: str, namespace: str, after: int, upto: int) -> Iterator[Change]:
        with self._lock:
            rows = self._rows(resource, namespace, after, upto, " DESC").fetchall()
        return map(self._change, rows)

    def close(self) -> None:
        self._reader.shutdown()
        with self._lock:
            if self._connection:
                self._connection.close()

    def _batch(self, resource: str, namespace: str, after: int, upto: int) -> tuple[Sequence[Change], int]:
        changes: list[Change] = []
        size = 0
        with self._lock:
            for row in self._rows(resource, namespace, after, upto, f" LIMIT {BATCH_CHANGES}"):
                changes.append(self._change(row))
                size += len(changes[-1].record.value)
                if size > BATCH_BYTES:
                    break
        whole = len(changes) < BATCH_CHANGES and size <= BATCH_BYTES
        return changes, upto if whole else changes[-1].revision

    def _rows(self, resource: str, namespace: str, after: int, upto: int, ending: str) -> sqlite3.Cursor:
        try:
            if self._connection is None:
                self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
                self._connection.execute("PRAGMA query_only = ON")
            return self._connection.execute(_CHANGES + ending, (after, upto, resource, namespace, namespace))
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self._path} cannot be read: {reason(error)}") from error

    def _change(self, row: Sequence[Any]) -> Change:
        revision, resource, namespace, name, value, old_revision, old_value = row
        key = Key(sys.intern(resource), sys.intern(namespace), name)
        before = Record(key, old_revision, old_value, self._describe) if old_revision else None
        if value is None:
            assert before, f"{self._path}: the deletion {revision} has nothing to delete"
            return Change(revision, "DELETED", buried(before, revision), before)
        kind: ChangeType = "MODIFIED" if before else "ADDED"
        return Change(revision, kind, Record(key, revision, value, self._describe), before)
