"""Lists: which records, as of which revision, how many at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.endpoints import continue_tokens, resource_versions, selection, version_conversion
from traincrew.embedded.apiserver.requests.request import Request
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.storage.errors import RevisionCompacted
from traincrew.embedded.apiserver.storage.records import Record

EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class Listed(NamedTuple):
    records: list[Record]
    revision: int
    continued: str = ""
    remaining: int | None = None

    def metadata(self) -> dict[str, object]:
        found: dict[str, object] = {"resourceVersion": str(self.revision)}
        if self.continued:
            found["continue"] = self.continued
        if self.remaining is not None:
            found["remainingItemCount"] = self.remaining
        return found


def listed(scope: RequestScope, request: Request, given: list[Record] | None = None) -> Listed:
    """given: the records to choose from, where they are not those of the store."""
    wanted = selection.selector(request.query, request.info)
    resource_versions.check(request.query, watch=False)
    # The newest of whatever age there is comes from a cache in Kubernetes, which knows no pages.
    cached = request.query.text("resourceVersion") == "0" and not request.query.text("continue")
    limit = 0 if cached else request.query.number("limit") or 0
    start, revision, records = _source(scope, request) if given is None else ("", scope.store.revision, given)
    if start:
        records = records[bisect_left(records, start, key=_path) :]
    if not (wanted or limit):
        return Listed(records, revision)
    found: list[Record] = []
    for index, each in enumerate(records):
        if wanted and not selection.matches(wanted, each):
            continue
        found.append(each)
        if limit and len(found) == limit and index + 1 < len(records):
            return _cut(found, revision, None if wanted else len(records) - index - 1)
    return Listed(found, revision)


def _cut(found: list[Record], revision: int, remaining: int | None) -> Listed:
    return Listed(found, revision, continue_tokens.written(revision, _path(found[-1]) + "\0"), remaining)


def _path(record: Record) -> str:
    return f"{record.key.namespace}/{record.key.name}" if record.key.namespace else record.key.name


def _source(scope: RequestScope, request: Request) -> tuple[str, int, list[Record]]:
    """Where to start, the revision that the list is of, and the records as of then."""
    store, resource = scope.store, request.info.store_name
    text = request.query.text("resourceVersion")
    if token_text := request.query.text("continue"):
        token = continue_tokens.read(token_text)
        if text not in resource_versions.NEWEST:
            raise api_errors.bad_request("specifying resource version is not allowed when using continue")
        if token.rv < 0:
            return token.start, store.revision, store.list(resource, request.namespace)
        return token.start, token.rv, _as_of(scope, request, token.rv, token.start)
    if text in resource_versions.NEWEST:
        return "", store.revision, store.list(resource, request.namespace)
    asked = _asked(scope, request, text)
    match = request.query.text("resourceVersionMatch")
    if match == "Exact" or (request.query.number("limit") and not match):
        return "", asked, _as_of(scope, request, asked)
    return "", store.revision, store.list(resource, request.namespace)


def _asked(scope: RequestScope, request: Request, text: str) -> int:
    try:
        return resource_versions.reached(scope.store, text)
    except api_errors.StatusError as refusal:
        if refusal.code == 400 and request.query.text("resourceVersionMatch") == "Exact":
            raise api_errors.bad_request(f"invalid resource version: {refusal.message}") from None
        raise


def _as_of(scope: RequestScope, request: Request, revision: int, start: str = "") -> list[Record]:
    try:
        return scope.store.list_at(request.info.store_name, request.namespace, revision)
    except RevisionCompacted:
        if not start:
            raise api_errors.expired(f"The resourceVersion for the provided list is too old: {revision}") from None
        refusal = api_errors.expired(EXPIRED)
        refusal.continued = continue_tokens.written(-1, start)
        raise refusal from None


PIECE = 2**18
"""Bytes that are joined at once: the event loop gets its turn in between, and who does not read holds up no more than this."""


def pieces(request: Request, found: Listed) -> Iterator[bytes]:
    """The JSON of the list, in parts."""
    info = request.info
    kind = info.list_kind or f"{info.kind}List"
    metadata = found.metadata()
    if info.definition is not None:
        metadata.setdefault("continue", "")  # as lists without a type are written
    head = {"kind": kind, "apiVersion": info.api_version, "metadata": metadata}
    yield msgspec.json.encode(head)[:-1] + b',"items":['
    comma = b""
    for some in _portions(found.records):
        yield comma + b",".join([version_conversion.untitled(each, info) for each in some])
        comma = b","
    yield b"]}"


def _portions(records: list[Record]) -> Iterator[list[Record]]:
    start = size = 0
    for index, record in enumerate(records, 1):
        size += len(record.value)
        if size >= PIECE:
            yield records[start:index]
            start, size = index, 0
    if start < len(records):
        yield records[start:]
