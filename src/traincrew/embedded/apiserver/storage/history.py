"""History: older changes, read from the data file through a separate connection."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from traincrew.embedded.apiserver.storage.database import explain
from traincrew.embedded.apiserver.storage.errors import StoreUnavailable
from traincrew.embedded.apiserver.storage.records import ChangeType, GetSelectableFields, Key, Record, RecordChange, tombstone

BATCH_CHANGES = 200
BATCH_BYTES = 2 * 2**20

_CHANGES = """
  SELECT new.revision, new.resource, new.namespace, new.name, new.value, old.revision, old.value
  FROM changes new LEFT JOIN changes old ON old.revision = new.previous
  WHERE new.revision > ? AND new.revision <= ? AND new.resource = ? AND (? = '' OR new.namespace = ?)
  ORDER BY new.revision LIMIT ?"""

# The first change of each object after a revision names the state at that revision: the one that it supersedes.
_BEFORE = """
  SELECT new.resource, new.namespace, new.name, old.revision, old.value
  FROM changes new LEFT JOIN changes old ON old.revision = new.previous
  WHERE new.revision > ? AND new.revision <= ? AND new.resource = ? AND (? = '' OR new.namespace = ?) AND new.previous <= ?
  ORDER BY new.previous"""

States = dict[Key, Record | None]


class WatchHistory:
    """The caller ensures that the range is neither compacted nor beyond the published revision."""

    def __init__(self, path: Path, get_selectable: GetSelectableFields) -> None:
        self._path, self._get_selectable = path, get_selectable
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._reader = ThreadPoolExecutor(1, "store-history")

    async def batch(self, resource: str, namespace: str, after: int, upto: int) -> tuple[Sequence[RecordChange], int]:
        """Some changes in order, and the revision up to which they are complete. Reads in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reader, self._batch, resource, namespace, after, upto)

    def before(self, resource: str, namespace: str, revision: int, upto: int) -> States:
        """The states at a revision of the objects that changed after it; None for those that did not exist. Blocks."""
        states: States = {}
        with self._reading() as connection:
            for *key, old, value in connection.execute(_BEFORE, (revision, upto, resource, namespace, namespace, revision)):
                key_bytes = _key(*key)
                states[key_bytes] = Record(key_bytes, old, value, self._get_selectable) if old else None
        return states

    def close(self) -> None:
        self._reader.shutdown()
        with self._lock:
            if self._connection:
                self._connection.close()

    def _batch(self, resource: str, namespace: str, after: int, upto: int) -> tuple[Sequence[RecordChange], int]:
        changes: list[RecordChange] = []
        size = 0
        with self._reading() as connection:
            for row in connection.execute(_CHANGES, (after, upto, resource, namespace, namespace, BATCH_CHANGES)):
                changes.append(self._change(row))
                size += len(changes[-1].record.value)
                if size > BATCH_BYTES:
                    break
        complete = len(changes) < BATCH_CHANGES and size <= BATCH_BYTES
        return changes, upto if complete else changes[-1].revision

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                if self._connection is None:
                    # Not mode=ro, which cannot share the memory of the write-ahead log; and not a new file if it was removed.
                    name = f"{self._path.absolute().as_uri()}?mode=rw"
                    self._connection = sqlite3.connect(name, uri=True, isolation_level=None, check_same_thread=False)
                    self._connection.execute("PRAGMA query_only = ON")
                yield self._connection
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self._path} cannot be read: {explain(error, self._path)}") from error

    def _change(self, row: Sequence[Any]) -> RecordChange:
        revision, resource, namespace, name, value, old_revision, old_value = row
        key = _key(resource, namespace, name)
        before = Record(key, old_revision, old_value, self._get_selectable) if old_revision else None
        if value is None:
            assert before, f"{self._path}: the deletion {revision} has no earlier state"
            return RecordChange(revision, "DELETED", tombstone(before, revision), before)
        kind: ChangeType = "MODIFIED" if before else "ADDED"
        return RecordChange(revision, kind, Record(key, revision, value, self._get_selectable), before)


def _key(resource: str, namespace: str, name: str) -> Key:
    return Key(sys.intern(resource), sys.intern(namespace), name)
