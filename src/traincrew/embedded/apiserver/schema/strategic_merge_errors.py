"""Errors of an object after a strategic merge patch, as Go's conversion from unstructured reports them."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import go_base64
from traincrew.apimachinery.resource_info import Schema
from traincrew.embedded.apiserver.schema import json_tree, typed_decoding_errors
from traincrew.embedded.apiserver.schema.builtin_kinds import GO_FIELDS

_KINDS = {"boolean": "bool", "number": "float64", "string": "string"}


def first_error(value: Any, schema: Schema, go: str = "") -> str:
    """The first error by field name; empty if there is none."""
    if value is None:
        return ""
    if schema.get("format") in ("quantity", "int-or-string", "date-time", "micro-time"):
        return _self_read(value, schema)
    if GO_FIELDS in schema:
        return _struct(value, schema)
    match schema.get("type"):
        case "array":
            return _list(value, schema["items"], typed_decoding_errors.element(go))
        case "object" if "additionalProperties" in schema:
            return _map(value, schema["additionalProperties"], typed_decoding_errors.element(go))
        case "string" if schema.get("format") == "byte":
            return _bytes(value)
        case "string" | "boolean" | "integer" | "number":
            return _scalar(value, schema, go)
    return ""


def _struct(value: Any, schema: Schema) -> str:
    if not isinstance(value, dict):
        return f"cannot restore struct from: {_kind(value)}"
    properties = schema.get("properties", {})
    inner = ((value.get(name), properties.get(name, {}), go) for name, go in schema[GO_FIELDS].items())
    return next((error for each, of, go in inner if (error := first_error(each, of, go.rstrip("!").lstrip("*")))), "")


def _list(value: Any, items: Schema, go: str) -> str:
    if not isinstance(value, list):
        return f"cannot restore slice from {_kind(value)}"
    return next((error for each in value if (error := first_error(each, items, go))), "")


def _map(value: Any, values: Schema, go: str) -> str:
    if not isinstance(value, dict):
        return f"cannot restore map from {_kind(value)}"
    return next((error for each in value.values() if (error := first_error(each, values, go))), "")


def _bytes(value: Any) -> str:
    if not isinstance(value, str):
        return "" if isinstance(value, list) else f"cannot restore slice from {_kind(value)}"
    try:
        go_base64.canonical(value)
    except go_base64.Base64Error as error:
        return f"error decoding from json: {error}"
    return ""


def _scalar(value: Any, schema: Schema, go: str) -> str:
    expected, error = schema["type"], _kind(value)
    kind = _KINDS.get(expected) or schema.get("format", "int64")
    integral = error == "int64" or (error == "float64" and value == int(value))
    if error == kind or (expected == "integer" and integral) or (expected == "number" and error == "int64"):
        return ""
    if (error, expected) in (("int64", "string"), ("float64", "integer")):
        return f"cannot convert {error} to {go or kind}"
    return f"unrecognized type: {kind}"


def _self_read(value: Any, schema: Schema) -> str:
    try:
        typed_decoding_errors.TypedDecoder(json_tree.from_value(value), schema, "")
    except typed_decoding_errors.TypedDecodeError as error:
        return str(error)
    return ""


def _kind(value: Any) -> str:
    names = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64"}
    return names.get(type(value), "float64")
