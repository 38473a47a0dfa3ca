"""Gets, lists and watches, in the form that was asked for: the object, its metadata, or a table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.endpoints import (
    content_negotiation,
    lists,
    resource_versions,
    response_encoding,
    version_conversion,
)
from traincrew.embedded.apiserver.endpoints.response_encoding import Pieces, include
from traincrew.embedded.apiserver.endpoints.watches import Look, Watch
from traincrew.embedded.apiserver.printers import partial_metadata, tables
from traincrew.embedded.apiserver.requests.request import Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded
from traincrew.embedded.apiserver.storage.records import Key, Record

MANY = 50
"""Rows that are made at once, in less than a millisecond. Not in a thread: while that computes, the event loop gets its turn
only every five milliseconds, and gives it away again with every byte that it sends."""
STREAMED = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


def get(scope: RequestScope, request: Request) -> Response:
    if text := request.query.text("resourceVersion"):
        resource_versions.reached(scope.store, text)
    record = scope.store.get(Key(request.info.store_name, request.namespace, request.name))
    if record is None:
        raise api_errors.not_found(request.subject)
    return Response(200, version_conversion.shown(record, request.info))


async def list_pieces(scope: RequestScope, request: Request, given: list[Record] | None = None) -> Pieces:
    """The body of a list in parts, so that a large one does not hold up everybody else."""
    form = response_encoding.form(request, content_negotiation.LIST)
    found = lists.listed(scope, request, given)
    if form.kind == "PartialObjectMetadata":
        raise partial_metadata.a_list(request.info)
    wire = response_encoding.of(request, form)
    if wire.plain and not form.kind:
        return Pieces(wire.content_type, lists.pieces(request, found))
    parts = _turned(scope, request, found, form) if form.kind else lists.pieces(request, found)
    if wire.plain:
        return Pieces(wire.content_type, parts)
    if len(found.records) <= MANY:
        return Pieces(wire.content_type, iter([wire.encode(b"".join(parts))]))
    return Pieces(wire.content_type, iter([await asyncio.to_thread(lambda: wire.encode(b"".join(parts)))]))


def _turned(scope: RequestScope, request: Request, found: lists.Listed, form: content_negotiation.Form) -> Iterator[bytes]:
    """A table, or a list of metadata: a document whose last field is a list, in parts."""
    info, metadata, now = request.info, found.metadata(), scope.clock()

    def document(records: list[Record]) -> Object:
        values = [version_conversion.shown(record, info) for record in records]
        if form.as_metadata:
            return partial_metadata.metadata_list(info, values, form.version, metadata)
        return tables.table(info, values, include=include(request), now=now, version=form.version, list_metadata=metadata)

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


def watch(scope: RequestScope, request: Request) -> Watch:
    query = request.query
    initial = query.flag("allowWatchBookmarks") and query.text("resourceVersion") in ("", "0")
    forms = content_negotiation.WATCHED_LISTS if initial else content_negotiation.RESOURCES
    form = content_negotiation.choose(request.accept, forms, content_negotiation.LIST if request.info.definition is None else ())
    if form.yaml:
        raise api_errors.StatusError(406, "NotAcceptable", f"only the following media types are accepted: {STREAMED}")
    return Watch(scope, request, _look(scope, request, form))


def _look(scope: RequestScope, request: Request, form: content_negotiation.Form) -> Look:
    info = request.info
    if form.as_metadata:
        kind, api_version = "PartialObjectMetadata", f"meta.k8s.io/{form.version}"
        return Look(
            kind,
            api_version,
            lambda record: encoded(partial_metadata.object_metadata(version_conversion.shown(record, info), form.version)),
        )
    if not form.as_table:
        return Look(info.kind, info.api_version, lambda record: version_conversion.shown(record, info))
    first = True

    def row(record: Record) -> bytes:
        nonlocal first
        body = version_conversion.shown(record, info)
        table = tables.table(info, [body], include=include(request), now=scope.clock(), version=form.version)
        if not first:  # the columns are told once
            table["columnDefinitions"] = None
        first = False
        return encoded(table)

    return Look(info.kind, info.api_version, row)
