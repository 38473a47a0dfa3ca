"""The store."""

from __future__ import annotations

import asyncio
import builtins
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from traincrew.apimachinery.unstructured import Object
from traincrew.client import listeners
from traincrew.embedded.apiserver.storage.change_log import ChangeLogs
from traincrew.embedded.apiserver.storage.database import Database, sqlite_errors_as_store_errors
from traincrew.embedded.apiserver.storage.errors import (
    ObjectTooLarge,
    RevisionCompacted,
    RevisionConflict,
    RevisionTooNew,
    StoreUnavailable,
)
from traincrew.embedded.apiserver.storage.history import States, WatchHistory
from traincrew.embedded.apiserver.storage.index import ObjectIndex
from traincrew.embedded.apiserver.storage.list_snapshots import ListSnapshots, rebuild
from traincrew.embedded.apiserver.storage.records import (
    ChangeType,
    GetSelectableFields,
    Key,
    Record,
    RecordChange,
    StorageLimits,
    encode,
    tombstone,
)
from traincrew.embedded.apiserver.storage.retention import COMPACTION_STEPS, HistoryRetention
from traincrew.embedded.apiserver.storage.watch import StorageWatch
from traincrew.embedded.apiserver.storage.writer import QueuedWrite, StoreWriter

MAX_OBJECT_BYTES = 3 * 2**19
"""The limit of etcd."""


class Store:
    """All methods run in the thread of one event loop: the loop of the first write."""

    def __init__(self, database: Database, get_selectable: GetSelectableFields, limits: StorageLimits) -> None:
        meta = database.meta()
        self.revision, self.compacted = meta.revision, meta.compacted
        self.closed = False
        self.problem = ""
        """Why the last group of writes failed; empty if it did not."""
        self.change_logs = ChangeLogs(meta.revision, limits)
        self.history = WatchHistory(database.path, get_selectable)
        self._get_selectable, self._limits = get_selectable, limits
        records = list(database.current(get_selectable))
        self._index = ObjectIndex(records)
        history = database.bytes_kept() - sum(len(record.value) for record in records)
        self._retention = HistoryRetention(limits, meta.compacted, history)
        self._writer = StoreWriter(database, meta, limits)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last_revision = meta.revision
        self._generation = 0
        self._accepted: deque[QueuedWrite] = deque()
        self._heads: dict[Key, QueuedWrite] = {}
        self._snapshots = ListSnapshots()
        self.listeners: dict[str, list[Callable[[RecordChange], None]]] = {}
        """By resource. Called in the loop when a change is published, before its writer continues."""

    @classmethod
    def open(
        cls, path: str | Path, get_selectable: GetSelectableFields, limits: StorageLimits | None = None, *, used: bool = False
    ) -> Store:
        """Raises StoreError if the file is in use, damaged, of a newer schema or not writable. used: it has had content."""
        limits = limits or StorageLimits()
        database = Database(Path(path), limits, used=used)
        try:
            with sqlite_errors_as_store_errors(database.path):
                return cls(database, get_selectable, limits)
        except BaseException:
            database.close()
            raise

    def get(self, key: Key) -> Record | None:
        return self._index.of(key.resource).get(key)

    def head(self, key: Key) -> Record | None:
        """The newest accepted state, which a write builds on. It may not be durable yet."""
        entry = self._heads.get(key)
        if entry is None:
            return self.get(key)
        return None if entry.change.type == "DELETED" else entry.change.record

    def list(self, resource: str, namespace: str = "") -> builtins.list[Record]:
        return self._index.of(resource).list(namespace)

    def heads(self, resource: str, namespace: str) -> builtins.list[Record]:
        """The newest accepted states of a namespace's objects, unordered, for decisions about all of them (quotas)."""
        records = {record.key: record for record in self.list(resource, namespace)}
        for key, entry in self._heads.items():
            if key.resource == resource and key.namespace == namespace:
                records.pop(key, None)
                if entry.change.type != "DELETED":
                    records[key] = entry.change.record
        return [*records.values()]

    def list_at(self, resource: str, namespace: str, revision: int) -> builtins.list[Record]:
        """The list at a revision. Raises RevisionCompacted, RevisionTooNew."""
        self._check_kept(revision)
        if (snapshot := self._snapshots.find(resource, namespace, revision)) is not None:
            return [*snapshot]
        now, before = self.list(resource, namespace), self._before(resource, namespace, revision)
        return self._snapshots.add(resource, namespace, revision, rebuild(now, before)) if before else now

    def count(self, resource: str) -> int:
        return len(self._index.of(resource))

    def resources(self) -> builtins.list[str]:
        """The resources that have objects."""
        return sorted(self._index.resources())

    def watch(self, resource: str, namespace: str, after: int) -> StorageWatch:
        """Raises RevisionCompacted, RevisionTooNew; StoreUnavailable once closed, or clients would retry at once."""
        if self.closed:
            raise StoreUnavailable("the store is closed")
        self._check_kept(after)
        return StorageWatch(self, resource, namespace, after)

    async def put(self, key: Key, object: Object, expect: int | None = None) -> Record:
        """Sets the object's resourceVersion. Returns when the state is durable and visible.

        `expect`: the revision that the head must have; 0: the object must not exist; None: any. Otherwise RevisionConflict.
        Cancelling the wait does not undo the write.
        """
        head = self._expected(key, expect)
        revision = self._last_revision + 1
        object["metadata"]["resourceVersion"] = str(revision)
        # Keys and their strings are shared between all states of an object, and between objects.
        key = head.key if head else Key(sys.intern(key.resource), sys.intern(key.namespace), key.name)
        encoded = encode(object)
        if len(encoded) > MAX_OBJECT_BYTES:
            raise ObjectTooLarge(f"limit is {MAX_OBJECT_BYTES}")
        record = Record(key, revision, encoded, self._get_selectable(key.resource, object))
        return await self._accept("MODIFIED" if head else "ADDED", record, head)

    async def delete(self, key: Key, expect: int | None = None) -> Record:
        """Returns the last state, with the revision of the deletion. RevisionConflict(None): the object does not exist."""
        head = self._expected(key, expect)
        if head is None:
            raise RevisionConflict(None)
        return await self._accept("DELETED", tombstone(head, self._last_revision + 1), head)

    def reindex(self, resource: str) -> None:
        """After the selectable fields of a resource have changed. They are computed anew on the next selection."""
        changes = (*self.change_logs.of(resource).since(0), *(entry.change for entry in self._accepted))
        states = (state for change in changes for state in (change.record, change.before) if state is not None)
        for record in (*self.list(resource), *states):
            if record.key.resource == resource:
                record.reset_selectable(self._get_selectable)

    async def close(self) -> None:
        """Writes everything accepted, then ends all watches."""
        if self.closed:
            return
        self.closed = True
        if self._timer:
            self._timer.cancel()
        await asyncio.to_thread(self._writer.close)
        self.change_logs.wake_all()
        await asyncio.to_thread(self.history.close)

    def _expected(self, key: Key, expect: int | None) -> Record | None:
        head = self.head(key)
        if expect is not None and expect != (head.revision if head else 0):
            raise RevisionConflict(head)
        return head

    def _accept(self, kind: ChangeType, record: Record, before: Record | None) -> asyncio.Future[Record]:
        if self.closed:
            raise StoreUnavailable("the store is closed")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._writer.start(self._loop, self._committed, self._failed)
        self._last_revision = record.revision
        entry = QueuedWrite(RecordChange(record.revision, kind, record, before), self._generation, self._loop.create_future())
        self._accepted.append(entry)
        self._heads[record.key] = entry
        self._writer.append(entry)
        return entry.done

    def _committed(self, count: int) -> None:
        self.problem = ""
        entries = [self._accepted.popleft() for _ in range(count)]
        for entry in entries:
            self._publish(entry)
        self.revision = entries[-1].change.revision
        self.change_logs.append([entry.change for entry in entries])
        for entry in entries:
            listeners.notify(self.listeners.get(entry.change.record.key.resource, ()), entry.change)
            if not entry.done.done():
                entry.done.set_result(entry.change.record)
        superseded = sum(len(entry.change.before.value) for entry in entries if entry.change.before)
        self._retention.note(time.monotonic(), self.revision, superseded)
        self._compact_history()

    def _publish(self, entry: QueuedWrite) -> None:
        record = entry.change.record
        if entry.change.type == "DELETED":
            self._index.of(record.key.resource).remove(record.key)
        else:
            self._index.of(record.key.resource).set(record)
        if self._heads.get(record.key) is entry:
            del self._heads[record.key]

    def _failed(self, problem: StoreUnavailable) -> None:
        # Later writes fail too: they build on states that are not durable. The writer drops them by their generation.
        self._generation += 1
        self.problem = str(problem)
        entries = [*self._accepted]
        self._accepted.clear()
        self._heads.clear()
        for entry in entries:
            if not entry.done.done():
                entry.done.set_exception(StoreUnavailable(*problem.args))

    def _compact_history(self) -> None:
        cut = self._retention.cut(time.monotonic(), self.revision)
        if cut > self.compacted:
            self.compacted = cut
            self._snapshots.forget(cut)
            self._writer.compact(cut)
        if self._timer is None and self._loop and not (self._retention.idle or self.closed):
            self._timer = self._loop.call_later(self._limits.history_age / COMPACTION_STEPS, self._compact_on_timer)

    def _compact_on_timer(self) -> None:
        self._timer = None
        self._compact_history()

    def _check_kept(self, revision: int) -> None:
        if revision < self.compacted:
            raise RevisionCompacted(revision, self.compacted)
        if revision > self.revision:
            raise RevisionTooNew(revision, self.revision)

    def _before(self, resource: str, namespace: str, revision: int) -> States:
        """The state at that revision of every object that has changed since."""
        log = self.change_logs.of(resource)
        recent = reversed(log.since(revision))
        before = {each.record.key: each.before for each in recent if namespace in ("", each.record.key.namespace)}
        if revision < log.trimmed:
            before |= self.history.before(resource, namespace, revision, log.trimmed)
        return before
