"""The store of one resource: filled by an `Informer`, and by the responses to our own writes.

Write-through: a component that writes an object puts the response into the store (`apply_response`,
`apply_delete_response`), so that it never decides on a state older than its last write. The watch delivers the same
change later; resource versions show which is newer. If versions are not numbers, the watch has precedence.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from traincrew.client import listeners, pending_writes, tombstones
from traincrew.model import meta

T = TypeVar("T", bound=meta.Named)
Key = tuple[str, str]
"""Namespace and name."""

OnChange = Callable[[T | None, T | None], None]
"""Called with the object before and after; one of them is None if it was created or deleted. Both are the same object
if the watch delivers a change by another client that the response to one of our writes already contained."""


class _Deleted(msgspec.Struct, rename="camel"):
    """The fields of a delete's response that show whether the object still exists."""

    class Meta(msgspec.Struct, rename="camel"):
        deletion_timestamp: str = ""
        deletion_grace_period_seconds: int = 0
        finalizers: list[str] | None = None

    kind: str = ""
    metadata: Meta = msgspec.field(default_factory=Meta)


class InformerStore(Generic[T]):
    """Reads are dictionary lookups; no method waits."""

    def __init__(
        self,
        decode: Callable[[bytes], T],
        on_change: OnChange[T] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.decode = decode
        self._on_change = on_change
        self._objects: dict[Key, T] = {}
        self._by_owner: dict[str, dict[str, T]] = {}
        self._tombstones = tombstones.Tombstones(clock)
        self._undelivered: dict[str, list[int]] = {}
        """Versions of our own writes that the watch has not delivered yet, by the object's UID."""
        self._observed_versions: dict[str | None, int] = {}
        """The version up to which list and watch have delivered all changes, by namespace; None: all namespaces."""
        self._invalidated: set[str] = set()
        self._pending_writes: dict[Key, pending_writes.PendingWrite[T]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def get(self, namespace: str, name: str) -> T | None:
        return self._objects.get((namespace, name))

    def owned_by(self, uid: str) -> tuple[T, ...]:
        """The objects whose controller has this UID."""
        return tuple(self._by_owner.get(uid, {}).values())

    @contextlib.contextmanager
    def pending_write(self, namespace: str, name: str) -> Iterator[None]:
        """Encloses a write and the application of its response.

        The watch is often faster than the response. A change that it delivers meanwhile is stored at once, but
        `on_change` is called only at the end, and not at all if the change is our own write.
        """
        key = (namespace, name)
        write = self._pending_writes.setdefault(key, pending_writes.PendingWrite())
        write.in_flight += 1
        try:
            yield
        finally:
            write.in_flight -= 1
            if not write.in_flight:
                del self._pending_writes[key]
                for change in write.changes:
                    if not write.is_own(change):
                        self._notify(change.old, change.new)

    def apply_response(self, response: T | bytes) -> T:
        """Applies the response to a create, replace or patch of ours. Returns the newest known object."""
        new = self.decode(response) if isinstance(response, bytes) else response
        old = self._objects.get(_key(new))
        self._note_response(new, new.metadata.resource_version)
        if self._outdated(new, old):
            return old if _same(old, new) and old is not None else new
        if not _same(old, new) and self._is_past(new):
            return new  # created and deleted before the response arrived
        if version := _version(new):
            self._undelivered.setdefault(new.metadata.uid, []).append(version)
        self._put(old, new)
        return new

    def remove(self, deleted: T) -> None:
        """Removes an object that does not exist any more according to a response."""
        self._note_response(deleted, "")
        self._add_tombstone(deleted.metadata.uid, math.inf)
        self._delete(deleted)

    def apply_delete_response(self, target: T, response: bytes) -> bool:
        """Applies the response to a delete of ours. Returns whether the object is deleted already."""
        deleted = msgspec.json.decode(response, type=_Deleted)
        terminating = deleted.metadata.deletion_timestamp and deleted.metadata.deletion_grace_period_seconds
        if deleted.kind != "Status" and (terminating or deleted.metadata.finalizers):
            self.apply_response(response)
            return False
        self.remove(target)
        return True

    def observe(self, new: T, *, listed: bool = False) -> None:
        """Applies an object from the watch or a list.

        `on_change` is not called for a change of our own, unless a list shows it: a list does not show the changes by
        other clients before ours.
        """
        old = self._objects.get(_key(new))
        undelivered = new.metadata.uid in self._undelivered
        own = self._is_own_write(new) and not listed
        if self._outdated(new, old):
            if old is not None and _same(old, new) and undelivered and not own:
                # The response to our own write contained another client's change; `on_change` was not called for it.
                self._notify(old, old, listed)
            return
        self._put(old, new)
        if old is not None and not _same(old, new):
            self._notify(old, None, listed)
            old = None
        self._notify(old, new, listed)

    def observe_deletion(self, key: Key, uid: str, version: str) -> None:
        """Applies a deletion that the watch delivered, or that a list showed by omission, as of a version.

        With a label selector the object may only have lost the label: an object of a later version is accepted again.
        """
        self._add_tombstone(uid, meta.version_number(version))
        old = self._objects.get(key)
        if old is not None and old.metadata.uid == uid:
            self._delete(old)
            self._notify(old, None)

    def observe_version(self, namespace: str | None, version: str) -> None:
        """All changes up to this version have been delivered."""
        if number := meta.version_number(version):
            self._observed_versions[namespace] = number

    def invalidate_versions(self) -> None:
        """The server's data are older than before (a backup was restored): the stored versions mean nothing."""
        self._invalidated = {obj.metadata.uid for obj in self._objects.values()}
        self._tombstones.clear()
        self._observed_versions.clear()
        self._undelivered.clear()

    def newer_than(self, obj: T, version: str) -> bool:
        """Whether the stored object is newer than a list of that version."""
        if obj.metadata.uid in self._invalidated:
            return False
        return _version(obj) > meta.version_number(version)

    def _outdated(self, new: T, old: T | None) -> bool:
        version = _version(new)
        if self._tombstones.covers(new.metadata.uid, version):
            return True
        if old is None or old.metadata.uid in self._invalidated:
            return False
        return 0 < version <= _version(old)

    def _is_past(self, new: T) -> bool:
        observed = self._observed_versions
        return 0 < _version(new) <= max(observed.get(None, 0), observed.get(new.metadata.namespace, 0))

    def _is_own_write(self, new: T) -> bool:
        """Whether the watch delivers a write of our own; drops those that it can no longer deliver."""
        version = _version(new)
        waiting = self._undelivered.get(new.metadata.uid)
        if not waiting:
            return False
        left = [each for each in waiting if each > version]
        if left:
            self._undelivered[new.metadata.uid] = left
        else:
            del self._undelivered[new.metadata.uid]
        return version in waiting

    def _put(self, old: T | None, new: T) -> None:
        if old is not None:
            self._unindex(old)
            self._invalidated.discard(old.metadata.uid)
            if not _same(old, new):
                self._add_tombstone(old.metadata.uid, math.inf)
        self._objects[_key(new)] = new
        if (owner := new.metadata.controller) is not None:
            self._by_owner.setdefault(owner.uid, {})[new.metadata.uid] = new

    def _delete(self, deleted: T) -> None:
        stored = self._objects.get(_key(deleted))
        if stored is not None and _same(stored, deleted):
            del self._objects[_key(deleted)]
            self._invalidated.discard(stored.metadata.uid)
            self._unindex(stored)

    def _unindex(self, obj: T) -> None:
        owner = obj.metadata.controller
        if owner is not None and (siblings := self._by_owner.get(owner.uid)) is not None:
            siblings.pop(obj.metadata.uid, None)
            if not siblings:
                del self._by_owner[owner.uid]

    def _add_tombstone(self, uid: str, version: float) -> None:
        self._tombstones.add(uid, version)
        self._undelivered.pop(uid, None)

    def _note_response(self, obj: T, version: str) -> None:
        if (write := self._pending_writes.get(_key(obj))) is not None:
            write.responses.add((obj.metadata.uid, version))

    def _notify(self, old: T | None, new: T | None, listed: bool = False) -> None:
        named = new if new is not None else old
        if named is not None and (write := self._pending_writes.get(_key(named))) is not None:
            write.changes.append(pending_writes.StoreChange(old, new, listed))
        elif self._on_change is not None:
            listeners.notify((self._on_change,), old, new)


def _key(obj: meta.Named) -> Key:
    return (obj.metadata.namespace, obj.metadata.name)


def _version(obj: meta.Named) -> int:
    return meta.version_number(obj.metadata.resource_version)


def _same(one: meta.Named | None, other: meta.Named) -> bool:
    return one is not None and one.metadata.uid == other.metadata.uid
