"""The protobuf envelope of an object: apiVersion, kind and bytes."""

from __future__ import annotations

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.protobuf import messages, well_known_types
from traincrew.embedded.apiserver.protobuf.decoding import MessageReader
from traincrew.embedded.apiserver.protobuf.wire_format import Malformed

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_PREFIX = b"k8s\0"
_SHOWN = 30
"""Bytes of a body shown in an error message."""


def decode(body: bytes, expected_api_version: str, expected_kind: str) -> tuple[str, str, Object]:
    """The apiVersion and kind of a body (by default the expected ones), and the object as it would be decoded from JSON:
    no nulls, and no empty values that Go would omit. The caller checks apiVersion and kind.

    Raises a StatusError (400) for a malformed body or a kind that is not served. Unknown fields are skipped.
    """
    try:
        api_version, kind, raw = _opened(body)
    except Malformed as error:
        message = f"the object provided is unrecognized (must be of type {expected_kind}): {error} ({_summary(body)})"
        raise api_errors.bad_request(message) from None
    api_version, kind = api_version or expected_api_version, kind or expected_kind
    try:
        obj = _read(api_version, kind, raw)
    except Malformed as error:
        version = api_version.rpartition("/")[2]
        message = f'{kind} in version "{version}" cannot be handled as a {expected_kind}: {error}'
        raise api_errors.bad_request(message) from None
    obj["kind"], obj["apiVersion"] = kind, api_version
    return api_version, kind, obj


def _opened(body: bytes) -> tuple[str, str, bytes]:
    if not body:
        raise Malformed("empty data")
    if not body.startswith(_PREFIX):
        raise Malformed("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    if len(body) == len(_PREFIX):
        raise Malformed("empty body")
    envelope = MessageReader(body[len(_PREFIX) :]).whole(messages.load().message(messages.ENVELOPE))
    title = envelope.get("typeMeta", {})
    return _known(title.get("apiVersion", "")), title.get("kind", ""), envelope.get("raw", b"")


def _known(api_version: str) -> str:
    """As Go reads it: without a version it is ignored."""
    group, _, version = api_version.rpartition("/")
    if not version or "/" in group:
        return ""
    return f"{group}/{version}" if group else version


def _read(api_version: str, kind: str, raw: bytes) -> Object:
    message = messages.load().kind(api_version, kind)
    if message is None:
        raise Malformed(f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:100"')
    return MessageReader(raw).whole(message)


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    start = body[:_SHOWN]
    return (well_known_types.text(start) if body.startswith(b"{") else start.hex()) + (" ..." if len(body) > _SHOWN else "")
