"""The one writer: a thread that commits whatever has been accepted meanwhile, as one group."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

from traincrew.embedded.apiserver.storage.database import Database, Meta, reason
from traincrew.embedded.apiserver.storage.errors import StoreUnavailable
from traincrew.embedded.apiserver.storage.records import Change, Limits, Record

FILE_CHECKS = 1.0
"""Seconds between looks at whether the data file is still there."""

SWEEPS = 0.05
"""Seconds between two sweeps while writes are waiting."""


class Entry:
    """A change that is accepted and not durable yet. `era` tells those before a failed commit from those after it."""

    __slots__ = ("change", "done", "era")

    def __init__(self, change: Change, era: int, done: asyncio.Future[Record]) -> None:
        self.change, self.era, self.done = change, era, done

    @property
    def row(self) -> tuple[int, int, str, str, str, bytes | None]:
        change, record = self.change, self.change.record
        value = None if change.type == "DELETED" else record.value
        return (change.revision, change.before.revision if change.before else 0, *record.key, value)


class Journal:
    def __init__(self, database: Database, meta: Meta, limits: Limits) -> None:
        self._database, self._limits = database, limits
        self._queue: queue.SimpleQueue[Entry | int | None] = queue.SimpleQueue()
        self._durable, self._compacted, self._swept = meta.revision, meta.compacted, meta.swept
        self._era = 0
        self._failed = self._closing = False
        self._checked = self._swept_at = 0.0
        self._thread: threading.Thread | None = None

    def start(
        self,
        loop: asyncio.AbstractEventLoop,
        committed: Callable[[int], None],
        failed: Callable[[StoreUnavailable], None],
    ) -> None:
        """Tells the loop how many more entries are durable, or that none of those it waits for ever will be."""
        self._loop, self._on_commit, self._on_failure = loop, committed, failed
        # Nothing acknowledged is lost with a daemon thread: it need not hold up the end of a process that crashes.
        self._thread = threading.Thread(target=self._run, name="store-journal", daemon=True)
        self._thread.start()

    def append(self, entry: Entry) -> None:
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
            if group := self._gather():
                self._commit(group)
            self._sweep(busy=bool(group))
        self._database.close()

    def _gather(self) -> list[Entry]:
        group: list[Entry] = []
        room = self._limits.group_bytes
        while not self._closing and room > 0 and len(group) < self._limits.group_changes:
            try:
                item = self._queue.get(block=not group and self._swept >= self._compacted)
            except queue.Empty:
                break
            if isinstance(item, Entry):
                if item.era == self._era:
                    group.append(item)
                    room -= len(item.change.record.value)
            elif item is None:
                self._closing = True
            else:
                self._compacted = max(self._compacted, item)
        return group

    def _commit(self, group: list[Entry]) -> None:
        try:
            self._write(group)
        except Exception as error:  # whatever it is: those who wait are told, and the thread lives on
            self._failed = True
            self._era += 1
            self._tell(self._on_failure, self._problem(error))
        else:
            self._failed = False
            self._durable = group[-1].change.revision
            self._tell(self._on_commit, len(group))

    def _write(self, group: list[Entry]) -> None:
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
            # The next compaction tries again; until then history stays longer than it has to.
            self._compacted = self._swept
        self._swept_at = time.monotonic()

    def _problem(self, error: Exception) -> StoreUnavailable:
        if isinstance(error, StoreUnavailable):
            return error
        why = reason(error, self._database.path) if isinstance(error, sqlite3.Error) else repr(error)
        return StoreUnavailable(f"{self._database.path} cannot be written: {why}")

    def _tell(self, callback: Callable[[Any], None], what: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, what)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self._closing = True
