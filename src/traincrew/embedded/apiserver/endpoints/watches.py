"""Watches: the changes of the store as the events of one request, with selectors, bookmarks and a timeout."""

from __future__ import annotations

import asyncio
import base64
import random
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import NamedTuple

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.endpoints import resource_versions, selection
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.storage.errors import RevisionCompacted, WatchTooSlow
from traincrew.embedded.apiserver.storage.records import Record, RecordChange
from traincrew.embedded.apiserver.storage.store import Store
from traincrew.embedded.apiserver.storage.watch import StorageWatch

BOOKMARK_SECONDS = 60.0
BOOKMARK_BEFORE_END_SECONDS = 2.0
"""Seconds before the end of a watch at which the last bookmark is sent."""
INITIAL_EVENTS_BLUEPRINT = "kubernetes.io/initial-events-list-blueprint"
MIN_TIMEOUT_SECONDS = 1800
"""A watch without a timeout gets a random one between this and its double, so that watches do not end together."""


class WatchEvent(NamedTuple):
    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: bytes

    def line(self) -> bytes:
        return b'{"type":"%s","object":%s}\n' % (self.type.encode(), self.object)


class ObjectEncoder(NamedTuple):
    """Encodes the objects of events: whole, as metadata, or as rows of a table."""

    kind: str
    """The kind of the encoded objects and of bookmarks."""
    api_version: str
    encode: Callable[[Record], bytes]


class Watch:
    """Opened by the constructor, which raises StatusError for an expired resource version; then iterated."""

    def __init__(self, scope: RequestScope, request: ApiRequest, encoder: ObjectEncoder) -> None:
        resource_versions.check(request.query, watch=True)
        self._request, self._encoder = request, encoder
        self._predicate = selection.selector(request.query, request.info).named(request.name)
        self._bookmarks = request.query.flag("allowWatchBookmarks")
        requested = request.query.number("timeoutSeconds")
        self._timeout = float(requested) if requested else MIN_TIMEOUT_SECONDS * (1 + random.random())
        self._after = 0
        """Changes up to this revision are skipped: a watch may start from a future revision."""
        self._initial, self._feed = self._open(scope.store)

    def _open(self, store: Store) -> tuple[list[Record] | None, StorageWatch]:
        text = self._request.query.text("resourceVersion")
        resource, namespace = self._request.info.store_name, self._request.namespace
        requested = store.revision if text in resource_versions.NEWEST else resource_versions.number(text)
        if resource_versions.sends_initial_events(self._request.query):
            if text not in resource_versions.NEWEST:
                resource_versions.check_not_future(store, text)
            records = [each for each in store.list(resource, namespace) if selection.matches(self._predicate, each)]
            return records, store.watch(resource, namespace, store.revision)
        self._after = requested
        try:
            return None, store.watch(resource, namespace, min(requested, store.revision))
        except RevisionCompacted as expired:
            raise api_errors.expired(f"too old resource version: {text} ({expired.compacted})") from None

    def close(self) -> None:
        self._feed.close()

    async def events(self) -> AsyncGenerator[list[WatchEvent], None]:
        """Batches of events. Ends with the timeout of the watch."""
        ends = asyncio.get_running_loop().time() + self._timeout
        try:
            async for batch in self._event_batches(ends):
                yield batch
        finally:
            self.close()

    async def _event_batches(self, ends: float) -> AsyncGenerator[list[WatchEvent], None]:
        initial = self._initial_events()
        if initial:
            yield initial
        while (seconds := _seconds_to_wait(ends - asyncio.get_running_loop().time())) > 0:
            try:
                # Encloses no yield: a timeout that expired there would cancel the reader of the events in another await.
                async with asyncio.timeout(seconds):
                    changes = await self._feed.batch()
            except TimeoutError:
                if self._bookmarks and asyncio.get_running_loop().time() < ends:
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

    def _initial_events(self) -> list[WatchEvent]:
        events = [WatchEvent("ADDED", self._encoder.encode(record)) for record in self._initial or ()]
        if self._bookmarks and self._initial is not None:
            events.append(self._bookmark(self._feed.position, end_of_initial=True))
        self._initial = None
        return events

    def _event(self, change: RecordChange) -> WatchEvent | None:
        type = event_type(change, self._predicate)
        if not type or change.revision <= self._after:
            return None
        if type == "DELETED" and change.type != "DELETED":
            return WatchEvent(type, self._encoder.encode(_last_seen(change)))
        return WatchEvent(type, self._encoder.encode(change.record))

    def _bookmark(self, revision: int, end_of_initial: bool = False) -> WatchEvent:
        metadata: dict[str, object] = {"resourceVersion": str(revision), "creationTimestamp": None}
        type_meta = {"kind": self._encoder.kind, "apiVersion": self._encoder.api_version}
        if end_of_initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true", INITIAL_EVENTS_BLUEPRINT: self._blueprint()}
        return WatchEvent("BOOKMARK", msgspec.json.encode(type_meta | {"metadata": metadata}))

    def _blueprint(self) -> str:
        """The list that the initial events replace, without its items."""
        kind = self._request.info.list_kind if self._encoder.kind == self._request.info.kind else f"{self._encoder.kind}List"
        empty: dict[str, object] = {"kind": kind, "apiVersion": self._encoder.api_version, "metadata": {}, "items": None}
        return base64.b64encode(msgspec.json.encode(empty) + b"\n").decode()


def _seconds_to_wait(left: float) -> float:
    """Until the next bookmark: once a minute, and shortly before the end, so that the next watch starts where this one ended."""
    before_end = left - BOOKMARK_BEFORE_END_SECONDS
    return min(before_end if before_end > 0 else left, BOOKMARK_SECONDS)


def _error(error: api_errors.StatusError) -> WatchEvent:
    return WatchEvent("ERROR", msgspec.json.encode(error.status()))


def event_type(change: RecordChange, predicate: selection.SelectionPredicate) -> str:
    """The type of the event for a watch with this selector; empty if there is none."""
    if not predicate:
        return change.type
    after = change.type != "DELETED" and selection.matches(predicate, change.record)
    before = change.before is not None and selection.matches(predicate, change.before)
    if after:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else ""


def _last_seen(change: RecordChange) -> Record:
    """An object that no longer matches the selector is sent as it was when it last matched, with the new resource version."""
    before = change.before
    if before is None:
        return change.record
    obj = msgspec.json.decode(before.value)
    obj["metadata"]["resourceVersion"] = str(change.revision)
    return Record(before.key, change.revision, msgspec.json.encode(obj), before.selectable_source)


def encode_events(events: Iterable[WatchEvent]) -> bytes:
    return b"".join([event.line() for event in events])
