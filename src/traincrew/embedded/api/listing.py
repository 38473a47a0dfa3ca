"""Lists: which records, as of which revision, how many at once."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from traincrew.embedded import fields, refusals
from traincrew.embedded.api import selection, versions
from traincrew.embedded.api.calls import Call
from traincrew.embedded.api.cluster import Cluster
from traincrew.embedded.api.queries import Query
from traincrew.embedded.store.faults import Expired
from traincrew.embedded.store.records import Record

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


class _Token(msgspec.Struct):
    """As the API server's own continue tokens are made."""

    v: str = "meta.k8s.io/v1"
    rv: int = 0
    start: str = ""


def listed(cluster: Cluster, call: Call) -> Listed:
    wanted = selection.selector(call.query, call.served)
    limit = call.query.number("limit") or 0
    start, revision, records = _source(cluster, call)
    if start:
        records = [each for each in records if _path(each) >= start]
    found: list[Record] = []
    for index, each in enumerate(records):
        if wanted and not selection.matches(wanted, each):
            continue
        found.append(each)
        if limit and len(found) == limit and index + 1 < len(records):
            return _cut(found, revision, None if wanted else len(records) - index - 1)
    return Listed(found, revision)


def _cut(found: list[Record], revision: int, remaining: int | None) -> Listed:
    token = msgspec.json.encode(_Token(rv=revision, start=_path(found[-1]) + "\0"))
    return Listed(found, revision, base64.urlsafe_b64encode(token).decode().rstrip("="), remaining)


def _path(record: Record) -> str:
    return f"{record.key.namespace}/{record.key.name}" if record.key.namespace else record.key.name


def _source(cluster: Cluster, call: Call) -> tuple[str, int, list[Record]]:
    """Where to start, the revision that the list is of, and the records as of then."""
    check_version(call.query, watch=False)
    store, resource = cluster.store, call.served.store_name
    text = call.query.text("resourceVersion")
    if token_text := call.query.text("continue"):
        token = _token(token_text)
        if token.rv < 0:
            return token.start, store.revision, store.list(resource, call.namespace)
        return token.start, token.rv, _as_of(cluster, call, token.rv, token.start)
    exact = call.query.text("resourceVersionMatch") == "Exact"
    exact |= bool(call.query.number("limit")) and text not in ("", "0") and not call.query.text("resourceVersionMatch")
    if text in ("", "0"):
        return "", store.revision, store.list(resource, call.namespace)
    if (asked := int(text)) > store.revision:
        raise too_new(asked, store.revision)
    if exact:
        return "", asked, _as_of(cluster, call, asked)
    return "", store.revision, store.list(resource, call.namespace)


def too_new(asked: int, current: int) -> refusals.Refusal:
    message = f"Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return refusals.Refusal(504, "Timeout", f"Timeout: {message}", causes=[cause], retry_after=1)


def _as_of(cluster: Cluster, call: Call, revision: int, start: str = "") -> list[Record]:
    try:
        return cluster.store.list_at(call.served.store_name, call.namespace, revision)
    except Expired:
        if not start:
            raise refusals.expired(f"The resourceVersion for the provided list is too old: {revision}") from None
        token = msgspec.json.encode(_Token(rv=-1, start=start))
        refusal = refusals.expired(EXPIRED)
        refusal.continued = base64.urlsafe_b64encode(token).decode().rstrip("=")
        raise refusal from None


def _token(text: str) -> _Token:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        token = msgspec.json.decode(raw, type=_Token)
    except (binascii.Error, ValueError, msgspec.DecodeError, UnicodeError) as fault:
        raise refusals.bad_request(f"continue key is not valid: {fault}") from None
    if token.v != "meta.k8s.io/v1" or not token.start or ".." in token.start.split("/"):
        raise refusals.bad_request("continue key is not valid")
    return token


def check_version(query: Query, *, watch: bool) -> None:
    """Raises what an API server says to nonsensical combinations of list or watch options."""
    version, match = query.text("resourceVersion"), query.text("resourceVersionMatch")
    faults = list(_version_faults(query, version, match, watch))
    if faults:
        raise refusals.invalid("ListOptions", "meta.k8s.io", "", faults)
    if version and not version.isdecimal():
        raise _not_a_version(version)


def _not_a_version(version: str) -> refusals.Refusal:
    detail = f'strconv.ParseUint: parsing "{version}": invalid syntax'
    return refusals.invalid("ListOptions", "meta.k8s.io", "", [fields.invalid("resourceVersion", version, detail)])


def _version_faults(query: Query, version: str, match: str, watch: bool) -> Iterator[fields.FieldError]:
    initial = query.given("sendInitialEvents")
    if watch:
        if not initial and match:
            yield fields.forbidden(
                "resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
        if initial and match != "NotOlderThan":
            yield fields.forbidden(
                "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
        return
    if initial:
        yield fields.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if not match:
        return
    if query.text("continue"):
        yield fields.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
    if not version:
        yield fields.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided")
    if match not in ("Exact", "NotOlderThan"):
        yield fields.not_supported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""])
    if match == "Exact" and version == "0":
        yield fields.forbidden("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')


PIECE = 500
"""Items that are joined at once: the event loop gets its turn in between."""


def pieces(call: Call, found: Listed) -> Iterator[bytes]:
    """The JSON of the list, in parts."""
    served = call.served
    kind = served.list_kind or f"{served.kind}List"
    head = {"kind": kind, "apiVersion": served.api_version, "metadata": found.metadata()}
    yield msgspec.json.encode(head)[:-1] + b',"items":['
    for at in range(0, len(found.records), PIECE):
        part = b",".join([versions.untitled(each, served) for each in found.records[at : at + PIECE]])
        yield part if at == 0 else b"," + part
    yield b"]}"
