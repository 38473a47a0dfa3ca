"""Watches: changes of the store as events of one request, with its selectors, bookmarks and end."""

from __future__ import annotations

import asyncio
import base64
import random
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import NamedTuple

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.endpoints import resource_versions, selection
from traincrew.embedded.apiserver.requests.request import Request
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.storage.errors import RevisionCompacted, WatchTooSlow
from traincrew.embedded.apiserver.storage.records import Change, Record
from traincrew.embedded.apiserver.storage.store import Store
from traincrew.embedded.apiserver.storage.watch import StorageWatch

BOOKMARK_SECONDS = 60.0
LAST_BOOKMARK = 2.0
"""Seconds before the end of a watch."""
BLUEPRINT = "kubernetes.io/initial-events-list-blueprint"
SHORTEST_LIFE = 1800
"""Seconds; a watch that names no end gets one between this and its double, so that not all end at once."""


class Event(NamedTuple):
    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: bytes

    def line(self) -> bytes:
        return b'{"type":"%s","object":%s}\n' % (self.type.encode(), self.object)


class Look(NamedTuple):
    """How objects are shown: whole, as metadata, as rows of a table."""

    kind: str
    """Of what is shown; bookmarks are of it, too."""
    api_version: str
    show: Callable[[Record], bytes]


class Watch:
    """Opened when it is made (an expired version is refused then), then iterated."""

    def __init__(self, scope: RequestScope, request: Request, look: Look) -> None:
        resource_versions.check(request.query, watch=True)
        self._request, self._look = request, look
        self._wanted = selection.selector(request.query, request.info).named(request.name)
        self._bookmarks = request.query.flag("allowWatchBookmarks")
        asked = request.query.number("timeoutSeconds")
        self._life = float(asked) if asked else SHORTEST_LIFE * (1 + random.random())
        self._after = 0
        """Of a watch from a revision that is still to come: what comes before it is passed over."""
        self._initial, self._feed = self._open(scope.store)

    def _open(self, store: Store) -> tuple[list[Record] | None, StorageWatch]:
        text = self._request.query.text("resourceVersion")
        resource, namespace = self._request.info.store_name, self._request.namespace
        asked = store.revision if text in resource_versions.NEWEST else resource_versions.number(text)
        if resource_versions.begins_whole(self._request.query):
            if text not in resource_versions.NEWEST:
                resource_versions.reached(store, text)
            records = [each for each in store.list(resource, namespace) if selection.matches(self._wanted, each)]
            return records, store.watch(resource, namespace, store.revision)
        self._after = asked
        try:
            return None, store.watch(resource, namespace, min(asked, store.revision))
        except RevisionCompacted as fault:
            raise api_errors.expired(f"too old resource version: {text} ({fault.compacted})") from None

    def close(self) -> None:
        self._feed.close()

    async def events(self) -> AsyncGenerator[list[Event], None]:
        """Batches of what came together; ends with the watch's time."""
        ends = asyncio.get_running_loop().time() + self._life
        try:
            async with asyncio.timeout_at(ends):
                async for batch in self._unending(ends):
                    yield batch
        except TimeoutError:
            pass
        finally:
            self.close()

    async def _unending(self, ends: float) -> AsyncGenerator[list[Event], None]:
        initial = self._initial_events()
        if initial:
            yield initial
        while True:
            try:
                async with asyncio.timeout(self._until_bookmark(ends)):
                    changes = await self._feed.batch()
            except TimeoutError:
                if self._bookmarks:
                    yield [self._bookmark(self._feed.position)]
                continue
            except (WatchTooSlow, RevisionCompacted):
                yield [_error(api_errors.expired("The watch was too slow and has been ended; list and watch again."))]
                return
            if not changes:  # the store is closed
                return
            batch = [event for change in changes if (event := self._event(change)) is not None]
            if batch:
                yield batch

    @staticmethod
    def _until_bookmark(ends: float) -> float:
        """Once a minute, and shortly before the end, so that whoever watches next begins where this one ended."""
        left = ends - asyncio.get_running_loop().time() - LAST_BOOKMARK
        return left if 0 < left < BOOKMARK_SECONDS else BOOKMARK_SECONDS

    def _initial_events(self) -> list[Event]:
        events = [Event("ADDED", self._look.show(record)) for record in self._initial or ()]
        if self._bookmarks and self._initial is not None:
            events.append(self._bookmark(self._feed.position, end_of_initial=True))
        self._initial = None
        return events

    def _event(self, change: Change) -> Event | None:
        type = visible(change, self._wanted)
        if not type or change.revision <= self._after:
            return None
        if type == "DELETED" and change.type != "DELETED":
            return Event(type, self._look.show(_last_seen(change)))
        return Event(type, self._look.show(change.record))

    def _bookmark(self, revision: int, end_of_initial: bool = False) -> Event:
        metadata: dict[str, object] = {"resourceVersion": str(revision), "creationTimestamp": None}
        titled = {"kind": self._look.kind, "apiVersion": self._look.api_version}
        if end_of_initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true", BLUEPRINT: self._blueprint()}
        return Event("BOOKMARK", msgspec.json.encode(titled | {"metadata": metadata}))

    def _blueprint(self) -> str:
        """The list that the initial events stand for, without its items."""
        kind = self._request.info.list_kind if self._look.kind == self._request.info.kind else f"{self._look.kind}List"
        empty: dict[str, object] = {"kind": kind, "apiVersion": self._look.api_version, "metadata": {}, "items": None}
        return base64.b64encode(msgspec.json.encode(empty) + b"\n").decode()


def _error(refusal: api_errors.StatusError) -> Event:
    return Event("ERROR", msgspec.json.encode(refusal.status()))


def visible(change: Change, wanted: selection.SelectionPredicate) -> str:
    """The type that a watcher with this selector sees; empty for nothing."""
    if not wanted:
        return change.type
    after = change.type != "DELETED" and selection.matches(wanted, change.record)
    before = change.before is not None and selection.matches(wanted, change.before)
    if after:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else ""


def _last_seen(change: Change) -> Record:
    """An object that left the selection is shown as it was when it last belonged, with the version of its leaving."""
    before = change.before
    if before is None:
        return change.record
    obj = msgspec.json.decode(before.value)
    obj["metadata"]["resourceVersion"] = str(change.revision)
    return Record(before.key, change.revision, msgspec.json.encode(obj), before.selectable_source)


def lines(events: Iterable[Event]) -> bytes:
    return b"".join([event.line() for event in events])
