"""Watches: changes of the store as events of one request, with its selectors, bookmarks and end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import NamedTuple

import msgspec

from traincrew.embedded import refusals
from traincrew.embedded.api import listing, selection, selectors, versions
from traincrew.embedded.api.calls import Call
from traincrew.embedded.api.cluster import Cluster
from traincrew.embedded.served import Served
from traincrew.embedded.store.faults import Expired, Overrun, TooNew
from traincrew.embedded.store.feed import Feed
from traincrew.embedded.store.records import Change, Record

BOOKMARK_SECONDS = 60.0
SHORTEST_LIFE = 1800
"""Seconds; a watch that names no end gets one between this and its double, so that not all end at once."""


class Event(NamedTuple):
    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: bytes

    def line(self) -> bytes:
        return b'{"type":"%s","object":%s}\n' % (self.type.encode(), self.object)


Show = Callable[[str, Record], bytes]
"""How an object of an event of that type is shown: whole, as metadata, as a row of a table."""


class Watch:
    """Opened when it is made (an expired version is refused then), then iterated."""

    def __init__(self, cluster: Cluster, call: Call, show: Show | None = None) -> None:
        listing.check_version(call.query, watch=True)
        self._call, self._served = call, call.served
        self._wanted = selection.selector(call.query, call.served)
        self._show = show or (lambda type, record: versions.shown(record, call.served))
        self._bookmarks = call.query.flag("allowWatchBookmarks")
        self._initial, self._feed = self._open(cluster)

    def _open(self, cluster: Cluster) -> tuple[list[Record] | None, Feed]:
        text, store = self._call.query.text("resourceVersion"), cluster.store
        resource, namespace = self._served.store_name, self._call.namespace
        whole = self._call.query.flag("sendInitialEvents") if self._call.query.given("sendInitialEvents") else text in ("", "0")
        try:
            if text not in ("", "0") and int(text) > store.revision:
                raise TooNew(int(text), store.revision)
            if not whole:
                return None, store.watch(resource, namespace, int(text) if text not in ("", "0") else store.revision)
            records = [each for each in store.list(resource, namespace) if selection.matches(self._wanted, each)]
            return records, store.watch(resource, namespace, store.revision)
        except Expired as fault:
            raise refusals.expired(f"too old resource version: {text} ({fault.compacted})") from None
        except TooNew:
            raise listing.too_new(int(text), store.revision) from None

    def close(self) -> None:
        self._feed.close()

    async def events(self) -> AsyncGenerator[list[Event], None]:
        """Batches of what came together; ends with the watch's time."""
        try:
            async with asyncio.timeout(self._life()):
                async for batch in self._unending():
                    yield batch
        except TimeoutError:
            pass
        finally:
            self.close()

    def _life(self) -> float:
        asked = self._call.query.number("timeoutSeconds")
        return float(asked) if asked else SHORTEST_LIFE * (1 + random.random())

    async def _unending(self) -> AsyncGenerator[list[Event], None]:
        initial = self._initial_events()
        if initial:
            yield initial
        while True:
            try:
                async with asyncio.timeout(BOOKMARK_SECONDS):
                    changes = await self._feed.batch()
            except TimeoutError:
                if self._bookmarks:
                    yield [self._bookmark(self._feed.position)]
                continue
            except (Overrun, Expired):
                yield [_error(refusals.expired("The watch was too slow and has been ended; list and watch again."))]
                return
            if not changes:  # the store is closed
                return
            batch = [event for change in changes if (event := self._event(change)) is not None]
            if batch:
                yield batch

    def _initial_events(self) -> list[Event]:
        events = [Event("ADDED", self._show("ADDED", record)) for record in self._initial or ()]
        if self._bookmarks and self._call.query.flag("sendInitialEvents"):
            events.append(self._bookmark(self._feed.position, end_of_initial=True))
        self._initial = None
        return events

    def _event(self, change: Change) -> Event | None:
        type = visible(change, self._wanted)
        if not type:
            return None
        if type == "DELETED" and change.type != "DELETED":
            return Event(type, self._show(type, _last_seen(change)))
        return Event(type, self._show(type, change.record))

    def _bookmark(self, revision: int, end_of_initial: bool = False) -> Event:
        metadata: dict[str, object] = {"resourceVersion": str(revision), "creationTimestamp": None}
        if end_of_initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        return Event("BOOKMARK", msgspec.json.encode(_empty(self._served) | {"metadata": metadata}))


def _empty(served: Served) -> dict[str, object]:
    return {"kind": served.kind, "apiVersion": served.api_version}


def _error(refusal: refusals.Refusal) -> Event:
    return Event("ERROR", msgspec.json.encode(refusal.status()))


def visible(change: Change, wanted: selectors.Selector) -> str:
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
    return Record(before.key, change.revision, msgspec.json.encode(obj), before.described)


def lines(events: Iterable[Event]) -> bytes:
    return b"".join([event.line() for event in events])
