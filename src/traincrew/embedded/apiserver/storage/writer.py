"""The writer: one thread that commits all accepted changes in groups."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

from traincrew.embedded.apiserver.storage.database import Database, DatabaseMeta, explain
from traincrew.embedded.apiserver.storage.errors import StoreUnavailable
from traincrew.embedded.apiserver.storage.records import Record, RecordChange, StorageLimits

FILE_CHECKS = 1.0
"""Seconds between checks that the data file still exists."""

SWEEPS = 0.05
"""Seconds between two sweeps while writes are waiting."""


class QueuedWrite:
    """An accepted change that is not durable yet. `generation` separates changes before and after a failed commit."""

    __slots__ = ("change", "done", "generation")

    def __init__(self, change: RecordChange, generation: int, done: asyncio.Future[Record]) -> None:
        self.change, self.generation, self.done = change, generation, done

    @property
    def row(self) -> tuple[int, int, str, str, str, bytes | None]:
        change, record = self.change, self.change.record
        value = None if change.type == "DELETED" else record.value
        return (change.revision, change.before.revision if change.before else 0, *record.key, value)


class StoreWriter:
    def __init__(self, database: Database, meta: DatabaseMeta, limits: StorageLimits) -> None:
        self._database, self._limits = database, limits
        self._queue: queue.SimpleQueue[QueuedWrite | int | None] = queue.SimpleQueue()
        self._durable, self._compacted, self._swept = meta.revision, meta.compacted, meta.swept
        self._generation = 0
        self._failed = self._closing = False
        self._checked = self._swept_at = 0.0
        self._thread: threading.Thread | None = None

    def start(
        self,
        loop: asyncio.AbstractEventLoop,
        committed: Callable[[int], None],
        failed: Callable[[StoreUnavailable], None],
    ) -> None:
        """Calls back into the loop: how many more writes are durable, or that all pending writes have failed."""
        self._loop, self._on_commit, self._on_failure = loop, committed, failed
        # A daemon thread does not delay the end of a crashing process. Acknowledged writes are durable already.
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def append(self, entry: QueuedWrite) -> None:
        self._queue.put(entry)

    def compact(self, revision: int) -> None:
        self._queue.put(revision)

    def close(self) -> None:
        """Blocks until everything accepted is written."""
        if self._thread is None:
            self._database.close()
            return
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while not self._closing:
            if group := self._next_group():
                self._commit(group)
            self._sweep(busy=bool(group))
        self._database.close()

    def _next_group(self) -> list[QueuedWrite]:
        group: list[QueuedWrite] = []
        room = self._limits.group_bytes
        while not self._closing and room > 0 and len(group) < self._limits.group_changes:
            try:
                item = self._queue.get(block=not group and self._swept >= self._compacted)
            except queue.Empty:
                break
            if isinstance(item, QueuedWrite):
                if item.generation == self._generation:
                    group.append(item)
                    room -= len(item.change.record.value)
            elif item is None:
                self._closing = True
            else:
                self._compacted = max(self._compacted, item)
        return group

    def _commit(self, group: list[QueuedWrite]) -> None:
        try:
            self._write(group)
        except Exception as error:  # any error fails the pending writes; the thread continues
            self._failed = True
            self._generation += 1
            self._notify(self._on_failure, self._problem(error))
        else:
            self._failed = False
            self._durable = group[-1].change.revision
            self._notify(self._on_commit, len(group))

    def _write(self, group: list[QueuedWrite]) -> None:
        now = time.monotonic()
        if self._failed or now - self._checked > FILE_CHECKS:
            self._database.check_file()
            self._checked = now
        rows = [entry.row for entry in group]
        if self._failed:
            self._database.write_after(self._durable, rows)
        else:
            self._database.write(rows)

    def _sweep(self, busy: bool) -> None:
        if self._swept >= self._compacted or (busy and time.monotonic() - self._swept_at < SWEEPS):
            return
        try:
            self._swept = self._database.sweep(self._swept, self._compacted)
        except Exception:
            # The next compaction retries; until then history is kept longer than necessary.
            self._compacted = self._swept
        self._swept_at = time.monotonic()

    def _problem(self, error: Exception) -> StoreUnavailable:
        if isinstance(error, StoreUnavailable):
            return error
        why = explain(error, self._database.path) if isinstance(error, sqlite3.Error) else repr(error)
        return StoreUnavailable(f"{self._database.path} cannot be written: {why}")

    def _notify(self, callback: Callable[[Any], None], what: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, what)
        except RuntimeError:  # the loop is closed: no caller waits any more
            self._closing = True
