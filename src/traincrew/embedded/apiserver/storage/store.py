"""The store."""

from __future__ import annotations

import asyncio
import builtins
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.storage.change_log import Logs
from traincrew.embedded.apiserver.storage.database import Database, told
from traincrew.embedded.apiserver.storage.errors import Expired, Stale, StoreUnavailable, TooNew
from traincrew.embedded.apiserver.storage.history import Archive, States
from traincrew.embedded.apiserver.storage.index import Shelves
from traincrew.embedded.apiserver.storage.list_snapshots import Snapshots, rebuilt
from traincrew.embedded.apiserver.storage.records import Change, ChangeType, Describe, Key, Limits, Record, buried, encode
from traincrew.embedded.apiserver.storage.retention import FINENESS, Retention
from traincrew.embedded.apiserver.storage.watch import Feed
from traincrew.embedded.apiserver.storage.writer import Entry, Journal

WARM_UP = 100
"""Records described at a time, so that the loop is not held up."""


class Store:
    """All methods belong to one event loop's thread; it is the loop of the first write."""

    def __init__(self, database: Database, describe: Describe, limits: Limits) -> None:
        meta = database.meta()
        self.revision, self.compacted = meta.revision, meta.compacted
        self.closed = False
        self.logs = Logs(meta.revision, limits)
        self.archive = Archive(database.path, describe)
        self._describe, self._limits = describe, limits
        records = list(database.current(describe))
        self._shelves = Shelves(records)
        history = database.bytes_kept() - sum(len(record.value) for record in records)
        self._retention = Retention(limits, meta.compacted, history)
        self._journal = Journal(database, meta, limits)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._given = meta.revision
        self._era = 0
        self._accepted: deque[Entry] = deque()
        self._heads: dict[Key, Entry] = {}
        self._snapshots = Snapshots()
        self.listeners: dict[str, list[Callable[[Change], None]]] = {}
        """By resource. Called in the loop when a change is published, before its writer hears of it; must not raise."""

    @classmethod
    def open(cls, path: str | Path, describe: Describe, limits: Limits | None = None) -> Store:
        """Raises StoreError where the file is in use, damaged, of a newer schema or cannot be written."""
        limits = limits or Limits()
        database = Database(Path(path), limits)
        try:
            with told(database.path):
                return cls(database, describe, limits)
        except BaseException:
            database.close()
            raise

    def get(self, key: Key) -> Record | None:
        return self._shelves.of(key.resource).get(key)

    def head(self, key: Key) -> Record | None:
        """What a write has to build on: the newest state, perhaps not durable yet."""
        entry = self._heads.get(key)
        if entry is None:
            return self.get(key)
        return None if entry.change.type == "DELETED" else entry.change.record

    def list(self, resource: str, namespace: str = "") -> builtins.list[Record]:
        return self._shelves.of(resource).list(namespace)

    def heads(self, resource: str, namespace: str) -> builtins.list[Record]:
        """The newest accepted states of a namespace's objects, in no order: what a decision about all of them must go by."""
        found = {record.key: record for record in self.list(resource, namespace)}
        for key, entry in self._heads.items():
            if key.resource == resource and key.namespace == namespace:
                found.pop(key, None)
                if entry.change.type != "DELETED":
                    found[key] = entry.change.record
        return [*found.values()]

    def list_at(self, resource: str, namespace: str, revision: int) -> builtins.list[Record]:
        """The list as it was. Raises Expired, TooNew."""
        self._check_kept(revision)
        if (snapshot := self._snapshots.find(resource, namespace, revision)) is not None:
            return [*snapshot]
        now, before = self.list(resource, namespace), self._before(resource, namespace, revision)
        return self._snapshots.add(resource, namespace, revision, rebuilt(now, before)) if before else now

    def count(self, resource: str) -> int:
        return len(self._shelves.of(resource))

    def resources(self) -> builtins.list[str]:
        """Those that have objects."""
        return sorted(self._shelves.resources())

    def watch(self, resource: str, namespace: str, after: int) -> Feed:
        """Raises Expired, TooNew; StoreUnavailable once closed, for a feed that ends at once would be asked for again at once."""
        if self.closed:
            raise StoreUnavailable("the store is closed")
        self._check_kept(after)
        return Feed(self, resource, namespace, after)

    async def put(self, key: Key, object: Object, expect: int | None = None) -> Record:
        """Sets the object's resourceVersion. Returns when the state is durable and visible.

        `expect`: the revision that the head must have; 0: there must be none; None: whatever. Else Stale. Cancelling the wait
        does not take the write back.
        """
        head = self._expected(key, expect)
        revision = self._given + 1
        object["metadata"]["resourceVersion"] = str(revision)
        # Keys and the words in them are shared between all states of an object, and between objects.
        key = head.key if head else Key(sys.intern(key.resource), sys.intern(key.namespace), key.name)
        record = Record(key, revision, encode(object), self._describe(key.resource, object))
        return await self._accept("MODIFIED" if head else "ADDED", record, head)

    async def delete(self, key: Key, expect: int | None = None) -> Record:
        """Returns the last state, with the revision of the deletion. Stale(None): there is nothing to delete."""
        head = self._expected(key, expect)
        if head is None:
            raise Stale(None)
        return await self._accept("DELETED", buried(head, self._given + 1), head)

    def describe_again(self, resource: str) -> None:
        """After the meaning of its facts has changed. Takes effect when they are asked for next."""
        for record in self.list(resource):
            record.forget_facts(self._describe)

    async def warm_up(self) -> None:
        """Describes what was read from the file, so that the first list with a selector need not."""
        for resource in self.resources():
            for number, record in enumerate(self.list(resource)):
                _ = record.facts
                if number % WARM_UP == WARM_UP - 1:
                    await asyncio.sleep(0)

    async def close(self) -> None:
        """Everything accepted is written first. Feeds end."""
        if self.closed:
            return
        self.closed = True
        if self._timer:
            self._timer.cancel()
        await asyncio.to_thread(self._journal.close)
        self.logs.wake_all()
        await asyncio.to_thread(self.archive.close)

    def _expected(self, key: Key, expect: int | None) -> Record | None:
        head = self.head(key)
        if expect is not None and expect != (head.revision if head else 0):
            raise Stale(head)
        return head

    def _accept(self, kind: ChangeType, record: Record, before: Record | None) -> asyncio.Future[Record]:
        if self.closed:
            raise StoreUnavailable("the store is closed")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._journal.start(self._loop, self._committed, self._failed)
        self._given = record.revision
        entry = Entry(Change(record.revision, kind, record, before), self._era, self._loop.create_future())
        self._accepted.append(entry)
        self._heads[record.key] = entry
        self._journal.append(entry)
        return entry.done

    def _committed(self, count: int) -> None:
        entries = [self._accepted.popleft() for _ in range(count)]
        for entry in entries:
            self._publish(entry)
        self.revision = entries[-1].change.revision
        self.logs.append([entry.change for entry in entries])
        for entry in entries:
            for listener in self.listeners.get(entry.change.record.key.resource, ()):
                listener(entry.change)
            if not entry.done.done():
                entry.done.set_result(entry.change.record)
        superseded = sum(len(entry.change.before.value) for entry in entries if entry.change.before)
        self._retention.note(time.monotonic(), self.revision, superseded)
        self._cut_history()

    def _publish(self, entry: Entry) -> None:
        record = entry.change.record
        if entry.change.type == "DELETED":
            self._shelves.of(record.key.resource).remove(record.key)
        else:
            self._shelves.of(record.key.resource).set(record)
        if self._heads.get(record.key) is entry:
            del self._heads[record.key]

    def _failed(self, problem: StoreUnavailable) -> None:
        # Also those that were accepted since: they build on what is not there. The journal drops them by their era.
        self._era += 1
        entries = [*self._accepted]
        self._accepted.clear()
        self._heads.clear()
        for entry in entries:
            if not entry.done.done():
                entry.done.set_exception(StoreUnavailable(*problem.args))

    def _cut_history(self) -> None:
        cut = self._retention.cut(time.monotonic(), self.revision)
        if cut > self.compacted:
            self.compacted = cut
            self._snapshots.forget(cut)
            self._journal.compact(cut)
        if self._timer is None and self._loop and not (self._retention.idle or self.closed):
            self._timer = self._loop.call_later(self._limits.history_age / FINENESS, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._cut_history()

    def _check_kept(self, revision: int) -> None:
        if revision < self.compacted:
            raise Expired(revision, self.compacted)
        if revision > self.revision:
            raise TooNew(revision, self.revision)

    def _before(self, resource: str, namespace: str, revision: int) -> States:
        """What every object that has changed since was at that revision."""
        log = self.logs.of(resource)
        recent = reversed(log.since(revision))
        before = {each.record.key: each.before for each in recent if namespace in ("", each.record.key.namespace)}
        if revision < log.trimmed:
            before |= self.archive.before(resource, namespace, revision, log.trimmed)
        return before
