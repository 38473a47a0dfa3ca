"""GET, LIST and WATCH, in the negotiated representation: objects, their metadata, or tables."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import (
    content_negotiation,
    lists,
    resource_versions,
    response_encoding,
    version_conversion,
)
from traincrew.embedded.apiserver.endpoints.response_encoding import ChunkedBody, include_object
from traincrew.embedded.apiserver.endpoints.watches import ObjectEncoder, Watch
from traincrew.embedded.apiserver.printers import partial_metadata, tables
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded
from traincrew.embedded.apiserver.storage.records import Key, Record

ROWS_PER_CHUNK = 50
"""Rows that are printed at once, in less than a millisecond. Not in a thread: while it computes, the event loop gets its turn
only every five milliseconds, and loses it again with every byte that it sends."""
STREAMED = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


def get(scope: RequestScope, request: ApiRequest) -> Response:
    if text := request.query.text("resourceVersion"):
        resource_versions.check_not_future(scope.store, text)
    record = scope.store.get(Key(request.info.store_name, request.namespace, request.name))
    if record is None:
        raise api_errors.not_found(request.subject)
    return Response(200, version_conversion.encoded_object(record, request.info))


async def list_chunks(scope: RequestScope, request: ApiRequest, given: list[Record] | None = None) -> ChunkedBody:
    """The body of a list in chunks, so that a long list does not block other requests."""
    representation = response_encoding.negotiate(request, content_negotiation.LIST)
    result = lists.list_records(scope, request, given)
    if representation.kind == "PartialObjectMetadata":
        raise partial_metadata.a_list(request.info)
    serializer = response_encoding.serializer_for(request, representation)
    chunks = _transformed(scope, request, result, representation) if representation.kind else lists.encode_chunks(request, result)
    if serializer.plain:
        return ChunkedBody(serializer.content_type, itertools.chain(chunks, [response_encoding.NEWLINE]))
    if len(result.records) <= ROWS_PER_CHUNK:
        return ChunkedBody(serializer.content_type, iter([serializer.encode(b"".join(chunks))]))
    return ChunkedBody(serializer.content_type, iter([await asyncio.to_thread(lambda: serializer.encode(b"".join(chunks)))]))


def _transformed(
    scope: RequestScope, request: ApiRequest, result: lists.ListResult, representation: content_negotiation.Representation
) -> Iterator[bytes]:
    """A table, or a list of metadata: a document whose last field is a list, in chunks."""
    info, metadata, now = request.info, result.metadata(), scope.clock()

    def document(records: list[Record]) -> Object:
        values = [version_conversion.encoded_object(record, info) for record in records]
        if representation.as_metadata:
            return partial_metadata.metadata_list(info, values, representation.version, metadata)
        return tables.table(
            info, values, include=include_object(request), now=now, version=representation.version, list_metadata=metadata
        )

    first = document(result.records[:ROWS_PER_CHUNK])  # outside the iterator: may raise StatusError
    return _parts(
        first,
        (document(result.records[at : at + ROWS_PER_CHUNK]) for at in range(ROWS_PER_CHUNK, len(result.records), ROWS_PER_CHUNK)),
    )


def _parts(first: Object, more: Iterator[Object]) -> Iterator[bytes]:
    document_bytes, field = encoded(first), next(reversed(first))
    if not first[field]:
        yield document_bytes
        return
    yield document_bytes.removesuffix(b"]}")
    for each in more:
        yield b"," + encoded(each[field])[1:-1]
    yield b"]}"


def watch(scope: RequestScope, request: ApiRequest) -> Watch:
    query = request.query
    initial = query.flag("allowWatchBookmarks") and query.text("resourceVersion") in ("", "0")
    transforms = content_negotiation.WATCHED_LISTS if initial else content_negotiation.RESOURCES
    representation = content_negotiation.negotiate(
        request.accept, transforms, content_negotiation.LIST if request.info.definition is None else ()
    )
    if representation.yaml:
        raise api_errors.StatusError(406, "NotAcceptable", f"only the following media types are accepted: {STREAMED}")
    return Watch(scope, request, _encoder(scope, request, representation))


def _encoder(scope: RequestScope, request: ApiRequest, representation: content_negotiation.Representation) -> ObjectEncoder:
    info = request.info
    if representation.as_metadata:
        kind, api_version = "PartialObjectMetadata", f"meta.k8s.io/{representation.version}"
        return ObjectEncoder(
            kind,
            api_version,
            lambda record: encoded(
                partial_metadata.object_metadata(version_conversion.encoded_object(record, info), representation.version)
            ),
        )
    if not representation.as_table:
        return ObjectEncoder(info.kind, info.api_version, lambda record: version_conversion.encoded_object(record, info))
    is_first = True

    def row(record: Record) -> bytes:
        nonlocal is_first
        body = version_conversion.encoded_object(record, info)
        table = tables.table(info, [body], include=include_object(request), now=scope.clock(), version=representation.version)
        if not is_first:  # only the first table has column definitions
            table["columnDefinitions"] = None
        is_first = False
        return encoded(table)

    return ObjectEncoder(info.kind, info.api_version, row)
