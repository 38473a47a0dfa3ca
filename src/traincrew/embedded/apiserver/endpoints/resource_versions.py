"""Validation of the resourceVersion of reads."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew.apimachinery import api_errors, field_errors
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.storage.store import Store

NEWEST = ("", "0")
"""Any revision."""
LONGEST = 20
"""Digits of the largest one."""


def number(text: str) -> int:
    """Raises a 400 if the text is not a revision."""
    if not (text.isascii() and text.isdigit()) or len(text) > LONGEST:
        why = "value out of range" if text.isascii() and text.isdigit() else "invalid syntax"
        error = field_errors.invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": {why}')
        raise api_errors.bad_request(str(error))
    return int(text)


def check_not_future(store: Store, text: str) -> int:
    """Raises a 504 for a revision that is still to come."""
    requested = number(text)
    if requested > store.revision:
        message = f"Too large resource version: {requested}, current: {store.revision}"
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        raise api_errors.StatusError(504, "Timeout", f"Timeout: {message}", causes=[cause], retry_after=1)
    return requested


def check(query: Query, *, watch: bool) -> None:
    """Raises the errors of kube-apiserver for invalid combinations of list or watch options."""
    match = query.text("resourceVersionMatch")
    if errors := list(_watch_errors(query, match) if watch else _list_errors(query, match)):
        raise api_errors.invalid("ListOptions", "meta.k8s.io", "", errors)


def sends_initial_events(query: Query) -> bool:
    """Whether a watch starts with the existing objects: on request, or without a resource version."""
    if query.given("sendInitialEvents") or query.text("resourceVersionMatch"):
        return query.flag("sendInitialEvents")
    return query.text("resourceVersion") in NEWEST


def _watch_errors(query: Query, match: str) -> Iterator[field_errors.FieldError]:
    initial = query.given("sendInitialEvents")
    if not initial and not match and sends_initial_events(query):
        initial, match = True, "NotOlderThan"
    if initial and match != "NotOlderThan":
        yield _forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    if not match:
        return
    if not initial:
        yield _forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    if match != "NotOlderThan":
        yield field_errors.not_supported("resourceVersionMatch", match, ["NotOlderThan"])
    if query.text("continue"):
        yield _forbidden("resourceVersionMatch is forbidden when continue is provided")


def _list_errors(query: Query, match: str) -> Iterator[field_errors.FieldError]:
    version = query.text("resourceVersion")
    if match and not version:
        yield _forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if match and query.text("continue"):
        yield _forbidden("resourceVersionMatch is forbidden when continue is provided")
    if match not in ("", "Exact", "NotOlderThan"):
        yield field_errors.not_supported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""])
    if match == "Exact" and version == "0":
        yield _forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    if query.given("sendInitialEvents"):
        yield field_errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _forbidden(why: str) -> field_errors.FieldError:
    return field_errors.forbidden("resourceVersionMatch", why)
