"""The local copy of one resource, kept by an `Informer` and by our own writes.

Write-through: whoever writes an object puts the server's answer in here (`learn`, `learn_deleted`), so nothing
is ever decided on a world older than our own last write. The watch brings the same news later; versions tell
which is newer. Where versions are not numbers, the watch is always right.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from traincrew.client import pending_writes, tombstones
from traincrew.model import meta

T = TypeVar("T", bound=meta.Named)
Key = tuple[str, str]

OnChange = Callable[[T | None, T | None], None]
"""Called with the object before and after; one of them is None if it came or went. Both are the same object if
the watch tells of a change by somebody else that an answer to a write of ours had already brought."""


class _Deleted(msgspec.Struct, rename="camel"):
    """What of a delete's answer says whether the object is still there."""

    class Meta(msgspec.Struct, rename="camel"):
        deletion_timestamp: str = ""
        deletion_grace_period_seconds: int = 0
        finalizers: list[str] | None = None

    kind: str = ""
    metadata: Meta = msgspec.field(default_factory=Meta)


class Store(Generic[T]):
    """Reads are plain dictionary look-ups; nothing here waits."""

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
        self._gone = tombstones.Tombstones(clock)
        self._unechoed: dict[str, list[int]] = {}
        """Versions of our own writes that the watch has not told yet, by the object's uid."""
        self._reached: dict[str | None, int] = {}
        """The version up to which list and watch have told everything, by namespace; None: all of them."""
        self._distrusted: set[str] = set()
        self._writes: dict[Key, pending_writes.Write[T]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def get(self, namespace: str, name: str) -> T | None:
        return self._objects.get((namespace, name))

    def owned_by(self, uid: str) -> tuple[T, ...]:
        """The objects whose controller has this uid."""
        return tuple(self._by_owner.get(uid, {}).values())

    @contextlib.contextmanager
    def writing(self, namespace: str, name: str) -> Iterator[None]:
        """Goes around a write of ours and the learning of its answer.

        The watch is often faster than the answer. What it tells of the object meanwhile is taken in at once, but
        passed on to `on_change` only at the end, and not at all if it was our own write.
        """
        key = (namespace, name)
        write = self._writes.setdefault(key, pending_writes.Write())
        write.under_way += 1
        try:
            yield
        finally:
            write.under_way -= 1
            if not write.under_way:
                del self._writes[key]
                for news in write.news:
                    if not write.caused(news):
                        self._tell(news.old, news.new)

    def learn(self, news: T | bytes) -> T:
        """Takes the server's answer to a create, replace or patch of ours. Returns the object as now known."""
        new = self.decode(news) if isinstance(news, bytes) else news
        old = self._objects.get(_key(new))
        self._note_answer(new, new.metadata.resource_version)
        if self._outdated(new, old):
            return old if _same(old, new) and old is not None else new
        if not _same(old, new) and self._has_passed(new):
            return new  # it has come and gone while its answer was on the way
        if version := _version(new):
            self._unechoed.setdefault(new.metadata.uid, []).append(version)
        self._put(old, new)
        return new

    def forget(self, gone: T) -> None:
        """Takes note that an object is no more, because the server said so to us."""
        self._note_answer(gone, "")
        self._bury(gone.metadata.uid, math.inf)
        self._remove(gone)

    def learn_deleted(self, target: T, answer: bytes) -> bool:
        """Takes the server's answer to a delete of ours. Returns whether the object is gone at once."""
        deleted = msgspec.json.decode(answer, type=_Deleted)
        terminating = deleted.metadata.deletion_timestamp and deleted.metadata.deletion_grace_period_seconds
        if deleted.kind != "Status" and (terminating or deleted.metadata.finalizers):
            self.learn(answer)
            return False
        self.forget(target)
        return True

    def saw(self, new: T, *, listed: bool = False) -> None:
        """Takes an object that the watch or a list has shown.

        A change of our own is not told again, unless a list shows it: what others did before it was then not shown.
        """
        old = self._objects.get(_key(new))
        awaited = new.metadata.uid in self._unechoed
        echo = self._is_echo(new) and not listed
        if self._outdated(new, old):
            if old is not None and _same(old, new) and awaited and not echo:
                # Somebody else's change came to us inside the answer to our own write; nobody was told of it yet.
                self._tell(old, old, listed)
            return
        self._put(old, new)
        if old is not None and not _same(old, new):
            self._tell(old, None, listed)
            old = None
        self._tell(old, new, listed)

    def saw_deleted(self, key: Key, uid: str, version: str) -> None:
        """Takes a deletion that the watch has shown, or a list by leaving an object out, as of a version.

        With a label selector this may be an object that merely lost the label, so one of a later version is
        welcome again.
        """
        self._bury(uid, meta.version_number(version))
        old = self._objects.get(key)
        if old is not None and old.metadata.uid == uid:
            self._remove(old)
            self._tell(old, None)

    def reached(self, namespace: str | None, version: str) -> None:
        """Takes note that all changes up to a version have been told."""
        if number := meta.version_number(version):
            self._reached[namespace] = number

    def distrust(self) -> None:
        """Takes note that the server has gone back in time (a backup was restored): versions held mean nothing."""
        self._distrusted = {held.metadata.uid for held in self._objects.values()}
        self._gone.clear()
        self._reached.clear()
        self._unechoed.clear()

    def newer_than(self, held: T, version: str) -> bool:
        """Whether a list of that version can know nothing of the object as it is held."""
        if held.metadata.uid in self._distrusted:
            return False
        return _version(held) > meta.version_number(version)

    def _outdated(self, new: T, old: T | None) -> bool:
        version = _version(new)
        if self._gone.covers(new.metadata.uid, version):
            return True
        if old is None or old.metadata.uid in self._distrusted:
            return False
        return 0 < version <= _version(old)

    def _has_passed(self, new: T) -> bool:
        reached = self._reached
        return 0 < _version(new) <= max(reached.get(None, 0), reached.get(new.metadata.namespace, 0))

    def _is_echo(self, new: T) -> bool:
        """Whether the watch tells us of a write of our own; forgets those that it can no longer tell."""
        version = _version(new)
        waiting = self._unechoed.get(new.metadata.uid)
        if not waiting:
            return False
        left = [each for each in waiting if each > version]
        if left:
            self._unechoed[new.metadata.uid] = left
        else:
            del self._unechoed[new.metadata.uid]
        return version in waiting

    def _put(self, old: T | None, new: T) -> None:
        if old is not None:
            self._unindex(old)
            self._distrusted.discard(old.metadata.uid)
            if not _same(old, new):
                self._bury(old.metadata.uid, math.inf)
        self._objects[_key(new)] = new
        if (owner := new.metadata.controller) is not None:
            self._by_owner.setdefault(owner.uid, {})[new.metadata.uid] = new

    def _remove(self, gone: T) -> None:
        held = self._objects.get(_key(gone))
        if held is not None and _same(held, gone):
            del self._objects[_key(gone)]
            self._distrusted.discard(held.metadata.uid)
            self._unindex(held)

    def _unindex(self, held: T) -> None:
        owner = held.metadata.controller
        if owner is not None and (siblings := self._by_owner.get(owner.uid)) is not None:
            siblings.pop(held.metadata.uid, None)
            if not siblings:
                del self._by_owner[owner.uid]

    def _bury(self, uid: str, version: float) -> None:
        self._gone.add(uid, version)
        self._unechoed.pop(uid, None)

    def _note_answer(self, about: T, version: str) -> None:
        if (write := self._writes.get(_key(about))) is not None:
            write.answers.add((about.metadata.uid, version))

    def _tell(self, old: T | None, new: T | None, listed: bool = False) -> None:
        named = new if new is not None else old
        if named is not None and (write := self._writes.get(_key(named))) is not None:
            write.news.append(pending_writes.News(old, new, listed))
        elif self._on_change is not None:
            self._on_change(old, new)


def _key(held: meta.Named) -> Key:
    return (held.metadata.namespace, held.metadata.name)


def _version(held: meta.Named) -> int:
    return meta.version_number(held.metadata.resource_version)


def _same(one: meta.Named | None, other: meta.Named) -> bool:
    return one is not None and one.metadata.uid == other.metadata.uid
