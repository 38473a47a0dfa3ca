"""Gets, lists and watches, in the form that was asked for: the object, its metadata, or a table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from traincrew.embedded import refusals
from traincrew.embedded.api import listing, versions
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster, encoded
from traincrew.embedded.api.watching import Show, Watch
from traincrew.embedded.show import accept, partial, tables
from traincrew.embedded.store.records import Key, Record

MANY = 200
"""Rows from which a table is made off the event loop."""


async def get(cluster: Cluster, call: Call) -> Answer:
    form = accept.choose(call.accept, listed=_routed(call, accept.OBJECT))
    listing.check_version(call.query, watch=False)
    record = cluster.store.get(Key(call.served.store_name, call.namespace, call.name))
    if record is None:
        raise refusals.not_found(call.subject)
    return await shown(cluster, call, record, form)


async def shown(cluster: Cluster, call: Call, record: Record, form: accept.Form) -> Answer:
    if form.as_table:
        body = versions.shown(record, call.served)
        table = tables.table(call.served, [body], include=_include(call), now=cluster.clock(), version=form.version)
        return Answer(200, encoded(table))
    if form.as_metadata:
        return Answer(200, encoded(partial.one(record.value, form.version)))
    return Answer(200, versions.shown(record, call.served))


def _routed(call: Call, types: tuple[str, ...]) -> tuple[str, ...]:
    """Built-in resources are routed by what they can be given as; custom ones are not."""
    return types if call.served.definition is None else ()


def _include(call: Call) -> str:
    return call.query.text("includeObject") or "Metadata"


async def list_pieces(cluster: Cluster, call: Call) -> Iterator[bytes]:
    """The body of a list in parts, so that a large one does not hold up everybody else."""
    form = accept.choose(call.accept, listed=_routed(call, accept.LIST))
    found = listing.listed(cluster, call)
    if not form.as_table and not form.as_metadata:
        return listing.pieces(call, found)
    if len(found.records) < MANY:
        return iter([_transformed(cluster, call, found, form)])
    return iter([await asyncio.to_thread(_transformed, cluster, call, found, form)])


def _transformed(cluster: Cluster, call: Call, found: listing.Listed, form: accept.Form) -> bytes:
    values = [versions.shown(record, call.served) for record in found.records]
    if form.as_metadata:
        return encoded(partial.many(values, form.version, found.metadata()))
    return encoded(
        tables.table(
            call.served,
            values,
            include=_include(call),
            now=cluster.clock(),
            version=form.version,
            list_metadata=found.metadata(),
        )
    )


def watch(cluster: Cluster, call: Call) -> Watch:
    query = call.query
    initial = query.flag("allowWatchBookmarks") and query.text("resourceVersion") in ("", "0")
    forms = accept.WATCHED_LISTS if initial else accept.RESOURCES
    return Watch(cluster, call, _show(cluster, call, accept.choose(call.accept, forms, _routed(call, accept.LIST))))


def _show(cluster: Cluster, call: Call, form: accept.Form) -> Show | None:
    if form.as_metadata:
        return lambda type, record: encoded(partial.one(record.value, form.version))
    if not form.as_table:
        return None
    first = True

    def row(type: str, record: Record) -> bytes:
        nonlocal first
        body = versions.shown(record, call.served)
        table = tables.table(call.served, [body], include=_include(call), now=cluster.clock(), version=form.version)
        if not first:  # the columns are told once
            table["columnDefinitions"] = None
        first = False
        return encoded(table)

    return row
