"""OpenAPI version 2 in the protobuf form of the gnostic library, which kubectl reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object

REQUESTED_MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
RESPONSE_MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The media type that clients request is invalid, and they do not accept it in a response."""

# Field numbers of the messages in gnostic's OpenAPIv2.proto.
_SWAGGER, _INFO, _PATHS, _DEFINITIONS = 1, 2, 8, 9
_TITLE, _VERSION = 1, 2
_NAME, _VALUE = 1, 2
_REF, _FORMAT, _DESCRIPTION, _REQUIRED = 1, 2, 4, 19
_ADDITIONAL, _TYPE, _ITEMS, _PROPERTIES, _EXTENSION = 21, 22, 23, 25, 31
_YAML = 2
_ONLY = 1
_BYTES = 2
"""The wire type of texts and messages."""


def encode(document: Object) -> bytes:
    """A document of `v2.document`. Defaults, enumerations and patterns are omitted: kubectl does not read them."""
    info = _text(_TITLE, document["info"]["title"]) + _text(_VERSION, document["info"]["version"])
    parts = [_text(_SWAGGER, document["swagger"]), _message(_INFO, info), _message(_PATHS, b"")]
    return b"".join([*parts, _message(_DEFINITIONS, _named(document["definitions"]))])


def _named(schemas: Mapping[str, Schema]) -> bytes:
    return b"".join(_message(_ONLY, _text(_NAME, name) + _message(_VALUE, _schema(schema))) for name, schema in schemas.items())


def _schema(schema: Schema) -> bytes:
    parts = [
        _text(number, schema[keyword])
        for number, keyword in ((_REF, "$ref"), (_FORMAT, "format"), (_DESCRIPTION, "description"))
        if keyword in schema
    ]
    parts += [_text(_REQUIRED, name) for name in schema.get("required", ())]
    if "additionalProperties" in schema:
        parts.append(_message(_ADDITIONAL, _message(_ONLY, _schema(schema["additionalProperties"]))))
    if "type" in schema:
        parts.append(_message(_TYPE, _text(_ONLY, schema["type"])))
    if "items" in schema:
        parts.append(_message(_ITEMS, _message(_ONLY, _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(_message(_PROPERTIES, _named(schema["properties"])))
    return b"".join([*parts, *_extensions(schema)])


def _extensions(schema: Schema) -> Iterable[bytes]:
    for key, value in schema.items():
        if key.startswith("x-"):
            yaml = _message(_YAML, msgspec.json.encode(value))  # JSON is YAML
            yield _message(_EXTENSION, _text(_NAME, key) + _message(_VALUE, yaml))


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode())


def _message(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
