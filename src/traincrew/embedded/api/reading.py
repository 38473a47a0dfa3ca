"""Gets, lists and watches, in the form that was asked for: the object, its metadata, or a table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from traincrew.embedded import refusals
from traincrew.embedded.api import listing, rendering, revisions, versions
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster, encoded
from traincrew.embedded.api.rendering import Pieces, include
from traincrew.embedded.api.watching import Look, Watch
from traincrew.embedded.served import Object
from traincrew.embedded.show import accept, partial, tables
from traincrew.embedded.store.records import Key, Record

MANY = 50
"""Rows that are made at once, in less than a millisecond. Not in a thread: while that computes, the event loop gets its turn
only every five milliseconds, and gives it away again with every byte that it sends."""
STREAMED = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


def get(cluster: Cluster, call: Call) -> Answer:
    if text := call.query.text("resourceVersion"):
        revisions.reached(cluster.store, text)
    record = cluster.store.get(Key(call.served.store_name, call.namespace, call.name))
    if record is None:
        raise refusals.not_found(call.subject)
    return Answer(200, versions.shown(record, call.served))


async def list_pieces(cluster: Cluster, call: Call, given: list[Record] | None = None) -> Pieces:
    """The body of a list in parts, so that a large one does not hold up everybody else."""
    form = rendering.form(call, accept.LIST)
    found = listing.listed(cluster, call, given)
    if form.kind == "PartialObjectMetadata":
        raise partial.a_list(call.served)
    wire = rendering.of(call, form)
    if wire.plain and not form.kind:
        return Pieces(wire.content_type, listing.pieces(call, found))
    parts = _turned(cluster, call, found, form) if form.kind else listing.pieces(call, found)
    if wire.plain:
        return Pieces(wire.content_type, parts)
    if len(found.records) <= MANY:
        return Pieces(wire.content_type, iter([wire.encode(b"".join(parts))]))
    return Pieces(wire.content_type, iter([await asyncio.to_thread(lambda: wire.encode(b"".join(parts)))]))


def _turned(cluster: Cluster, call: Call, found: listing.Listed, form: accept.Form) -> Iterator[bytes]:
    """A table, or a list of metadata: a document whose last field is a list, in parts."""
    served, metadata, now = call.served, found.metadata(), cluster.clock()

    def document(records: list[Record]) -> Object:
        values = [versions.shown(record, served) for record in records]
        if form.as_metadata:
            return partial.many(served, values, form.version, metadata)
        return tables.table(served, values, include=include(call), now=now, version=form.version, list_metadata=metadata)

    begun = document(found.records[:MANY])  # at once: this may be refused
    return _parts(begun, (document(found.records[at : at + MANY]) for at in range(MANY, len(found.records), MANY)))


def _parts(begun: Object, more: Iterator[Object]) -> Iterator[bytes]:
    whole, field = encoded(begun), next(reversed(begun))
    if not begun[field]:
        yield whole
        return
    yield whole.removesuffix(b"]}")
    for each in more:
        yield b"," + encoded(each[field])[1:-1]
    yield b"]}"


def watch(cluster: Cluster, call: Call) -> Watch:
    query = call.query
    initial = query.flag("allowWatchBookmarks") and query.text("resourceVersion") in ("", "0")
    forms = accept.WATCHED_LISTS if initial else accept.RESOURCES
    form = accept.choose(call.accept, forms, accept.LIST if call.served.definition is None else ())
    if form.yaml:
        raise refusals.Refusal(406, "NotAcceptable", f"only the following media types are accepted: {STREAMED}")
    return Watch(cluster, call, _look(cluster, call, form))


def _look(cluster: Cluster, call: Call, form: accept.Form) -> Look:
    served = call.served
    if form.as_metadata:
        kind, api_version = "PartialObjectMetadata", f"meta.k8s.io/{form.version}"
        return Look(kind, api_version, lambda record: encoded(partial.one(versions.shown(record, served), form.version)))
    if not form.as_table:
        return Look(served.kind, served.api_version, lambda record: versions.shown(record, served))
    first = True

    def row(record: Record) -> bytes:
        nonlocal first
        body = versions.shown(record, served)
        table = tables.table(served, [body], include=include(call), now=cluster.clock(), version=form.version)
        if not first:  # the columns are told once
            table["columnDefinitions"] = None
        first = False
        return encoded(table)

    return Look(served.kind, served.api_version, row)
