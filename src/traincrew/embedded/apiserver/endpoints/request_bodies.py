"""Decoding of request bodies."""

from __future__ import annotations

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.apiserver.schema import builtin_kinds, decoding

PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON_TYPES = ("", "application/json", "application/yaml", "text/json", "*/*")


def _content_type(request: ApiRequest) -> str:
    """Raises 415 for an unsupported media type."""
    given = request.content_type.partition(";")[0].strip().lower()
    if given == PROTOBUF and (request.info.definition is None or request.verb.startswith("delete")):
        return given
    if given not in JSON_TYPES:
        message = "the body of the request was in an unknown format - accepted media types include: "
        accepted = "application/json, application/yaml"
        if request.info.definition is None:
            accepted += ", application/vnd.kubernetes.protobuf"
        raise api_errors.unsupported_media_type(message + accepted)
    return given or "application/json"


def decoded(request: ApiRequest, validation: str) -> tuple[Object, tuple[str, ...]]:
    """The object of a create or update, and warnings."""
    expected = decoding.Expected(request.info.kind, request.info.api_version)
    return _read(request, request.info.schema, expected, validation)


def _read(request: ApiRequest, schema: Schema, expected: decoding.Expected, validation: str) -> tuple[Object, tuple[str, ...]]:
    given = _content_type(request)
    body = request.body
    if given == PROTOBUF:
        # Protobuf has no unknown field names. Everything else is decoded from JSON as usual.
        body, given, validation = _as_json(request.body, expected), "application/json", "Ignore"
    result = decoding.decode(body, given, schema, expected, validation)  # type: ignore[arg-type]
    return result.object, result.warnings


def _as_json(body: bytes, expected: decoding.Expected) -> bytes:
    from traincrew.embedded.apiserver import protobuf  # imported lazily: slow to load, and few clients send protobuf

    return msgspec.json.encode(protobuf.decode(body, expected.api_version, expected.kind)[2])


def of_kind(request: ApiRequest, group: str, version: str, kind: str, validation: str) -> tuple[Object, tuple[str, ...]]:
    """A body of a kind other than the resource's own: a Binding, an Eviction, a TokenRequest, a Scale."""
    schema = builtin_kinds.load().schema(group, version, kind)
    return _read(request, schema, decoding.Expected(kind, f"{group}/{version}" if group else version), validation)


def scale(request: ApiRequest) -> Object:
    return of_kind(request, "autoscaling", "v1", "Scale", "Ignore")[0]


def delete_options(request: ApiRequest) -> Object | None:
    """None without a body. The DeleteOptions of all groups are the same."""
    if not request.body:
        return None
    schema, expected = builtin_kinds.load().schema("", "v1", "DeleteOptions"), decoding.Expected("DeleteOptions", "v1")
    given = _content_type(request)
    body = request.body
    if given == PROTOBUF:
        body, given = _as_json(body, expected), "application/json"
    if given == "application/json" and b'"apiVersion"' in body:
        body = _with_core_version(body)
    try:
        return decoding.read(body, given, schema, expected)[0]
    except decoding.DecodeError as error:
        other = error.title if error.title and error.title.kind != expected.kind else None
        raise api_errors.bad_request(decoding.unregistered(other) if other else str(error)) from None


def _with_core_version(body: bytes) -> bytes:
    try:
        content = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body  # the decoder reports the error
    if isinstance(content, dict) and content.get("kind") == "DeleteOptions":
        content["apiVersion"] = "v1"
        return msgspec.json.encode(content)
    return body
