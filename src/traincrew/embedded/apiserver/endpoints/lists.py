"""Lists: the records of a resource, at a revision, in pages."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.endpoints import continue_tokens, resource_versions, selection, version_conversion
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.storage.errors import RevisionCompacted
from traincrew.embedded.apiserver.storage.records import Record

EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class ListResult(NamedTuple):
    records: list[Record]
    revision: int
    continued: str = ""
    remaining: int | None = None

    def metadata(self) -> dict[str, object]:
        metadata: dict[str, object] = {"resourceVersion": str(self.revision)}
        if self.continued:
            metadata["continue"] = self.continued
        if self.remaining is not None:
            metadata["remainingItemCount"] = self.remaining
        return metadata


def list_records(scope: RequestScope, request: ApiRequest, given: list[Record] | None = None) -> ListResult:
    """given: the records to select from, for resources that are not in the store."""
    predicate = selection.selector(request.query, request.info)
    resource_versions.check(request.query, watch=False)
    # In Kubernetes, resourceVersion=0 is served from a cache, which has no pages.
    cached = request.query.text("resourceVersion") == "0" and not request.query.text("continue")
    limit = 0 if cached else request.query.number("limit") or 0
    start, revision, records = _source(scope, request) if given is None else ("", scope.store.revision, given)
    if start:
        records = records[bisect_left(records, start, key=_path) :]
    if not (predicate or limit):
        return ListResult(records, revision)
    selected: list[Record] = []
    for index, each in enumerate(records):
        if predicate and not selection.matches(predicate, each):
            continue
        selected.append(each)
        if limit and len(selected) == limit and index + 1 < len(records):
            return _cut(selected, revision, None if predicate else len(records) - index - 1)
    return ListResult(selected, revision)


def _cut(records: list[Record], revision: int, remaining: int | None) -> ListResult:
    return ListResult(records, revision, continue_tokens.encode(revision, _path(records[-1]) + "\0"), remaining)


def _path(record: Record) -> str:
    return f"{record.key.namespace}/{record.key.name}" if record.key.namespace else record.key.name


def _source(scope: RequestScope, request: ApiRequest) -> tuple[str, int, list[Record]]:
    """The start key, the revision of the list, and the records at that revision."""
    store, resource = scope.store, request.info.store_name
    text = request.query.text("resourceVersion")
    if token_text := request.query.text("continue"):
        token = continue_tokens.decode(token_text)
        if text not in resource_versions.NEWEST:
            raise api_errors.bad_request("specifying resource version is not allowed when using continue")
        if token.rv < 0:
            return token.start, store.revision, store.list(resource, request.namespace)
        return token.start, token.rv, _records_at(scope, request, token.rv, token.start)
    if text in resource_versions.NEWEST:
        return "", store.revision, store.list(resource, request.namespace)
    requested = _requested_revision(scope, request, text)
    match = request.query.text("resourceVersionMatch")
    if match == "Exact" or (request.query.number("limit") and not match):
        return "", requested, _records_at(scope, request, requested)
    return "", store.revision, store.list(resource, request.namespace)


def _requested_revision(scope: RequestScope, request: ApiRequest, text: str) -> int:
    try:
        return resource_versions.check_not_future(scope.store, text)
    except api_errors.StatusError as error:
        if error.code == 400 and request.query.text("resourceVersionMatch") == "Exact":
            raise api_errors.bad_request(f"invalid resource version: {error.message}") from None
        raise


def _records_at(scope: RequestScope, request: ApiRequest, revision: int, start: str = "") -> list[Record]:
    try:
        return scope.store.list_at(request.info.store_name, request.namespace, revision)
    except RevisionCompacted:
        if not start:
            raise api_errors.expired(f"The resourceVersion for the provided list is too old: {revision}") from None
        error = api_errors.expired(EXPIRED)
        error.continued = continue_tokens.encode(-1, start)
        raise error from None


CHUNK_BYTES = 2**18
"""Bytes that are joined at once. The event loop gets its turn in between, and a slow client occupies no more memory than this."""


def encode_chunks(request: ApiRequest, result: ListResult) -> Iterator[bytes]:
    """The JSON of the list, in chunks."""
    info = request.info
    kind = info.list_kind or f"{info.kind}List"
    metadata = result.metadata()
    if info.definition is not None:
        metadata.setdefault("continue", "")  # lists of unstructured objects have it
    head = {"kind": kind, "apiVersion": info.api_version, "metadata": metadata}
    yield msgspec.json.encode(head)[:-1] + b',"items":['
    comma = b""
    for some in _portions(result.records):
        yield comma + b",".join([version_conversion.encoded_item(each, info) for each in some])
        comma = b","
    yield b"]}"


def _portions(records: list[Record]) -> Iterator[list[Record]]:
    start = size = 0
    for index, record in enumerate(records, 1):
        size += len(record.value)
        if size >= CHUNK_BYTES:
            yield records[start:index]
            start, size = index, 0
    if start < len(records):
        yield records[start:]
