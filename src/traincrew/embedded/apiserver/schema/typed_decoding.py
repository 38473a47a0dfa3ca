"""Typed decoding of built-in objects, the fast path: for bodies without errors.

A reader takes a decoded JSON value, drops nulls and makes quantities, times and bytes canonical; dicts and lists are changed
in place. At any irregularity it raises `Irregular`; then `typed_decoding_errors` decodes the body again, slowly and with Go's
messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traincrew.apimachinery import go_base64, quantities, times
from traincrew.apimachinery.resource_info import Schema
from traincrew.embedded.apiserver.schema.builtin_kinds import GO_FIELDS, GO_UNION

Reader = Callable[[Any], Any]

ABSENT: Any = object()
"""The result of a reader for a null."""


class Irregular(Exception):
    """A value of the wrong type, an unknown field, or any other irregularity."""


class GoStruct:
    """One Go struct. Its fields are added after it is registered, because structs contain themselves."""

    def __init__(self) -> None:
        self.plain: dict[str, type] = {}
        """Fields whose values need no reader if they are exactly of this class."""
        self.readers: dict[str, Reader] = {}

    def read(self, value: Any) -> Any:
        if value.__class__ is not dict:
            if value is None:
                return ABSENT
            raise Irregular
        plain, readers = self.plain, self.readers
        changed: list[tuple[str, Any]] | None = None
        for key, inner in value.items():
            if inner.__class__ is plain.get(key):
                continue
            reader = readers.get(key)
            if reader is None:
                raise Irregular
            read = reader(inner)
            if read is not inner:
                if changed is None:
                    changed = []
                changed.append((key, read))
        if changed is not None:
            _change(value, changed)
        return value


def _change(value: dict[str, Any], changed: list[tuple[str, Any]]) -> None:
    for key, read in changed:
        if read is ABSENT:
            del value[key]
        else:
            value[key] = read


_structs: dict[int, tuple[Schema, GoStruct]] = {}
"""By the identity of the table of fields, which is kept referenced so that its id is not reused."""


def struct(schema: Schema) -> GoStruct:
    fields = schema[GO_FIELDS]
    known = _structs.get(id(fields))
    if known is not None:
        return known[1]
    result = GoStruct()
    _structs[id(fields)] = (fields, result)
    properties = schema.get("properties", {})
    for name in fields:
        plain, result.readers[name] = _field(properties.get(name, {}))
        if plain is not None:
            result.plain[name] = plain
    return result


def _field(schema: Schema) -> tuple[type | None, Reader]:
    """The class whose values are valid as they are, and the reader for the others."""
    if GO_FIELDS in schema:
        return None, struct(schema).read
    if GO_UNION in schema:
        return None, _union(schema)
    if schema.get("format") in _FORMATS:
        return None, _FORMATS[schema["format"]]
    match schema.get("type"):
        case "string":
            return str, _null
        case "boolean":
            return bool, _null
        case "integer":
            return None, _int32 if schema.get("format") == "int32" else _int64
        case "number":
            return float, _number
        case "array":
            return None, _list(schema["items"])
        case "object" if "additionalProperties" in schema:
            return None, _map(schema["additionalProperties"])
    return None, _anything


def _null(value: Any) -> Any:
    if value is None:
        return ABSENT
    raise Irregular


def _anything(value: Any) -> Any:
    return ABSENT if value is None else value


def _int32(value: Any) -> Any:
    if value.__class__ is int and -0x80000000 <= value <= 0x7FFFFFFF:
        return value
    return _null(value)


def _int64(value: Any) -> Any:
    if value.__class__ is int and -(2**63) <= value < 2**63:
        return value
    return _null(value)


def _number(value: Any) -> Any:
    return value if value.__class__ is int else _null(value)


def _quantity(value: Any) -> Any:
    if value.__class__ is int:
        value = str(value)
    elif value.__class__ is not str:  # a float needs its literal
        return _null(value)
    try:
        return quantities.canonical(value)
    except quantities.QuantityError:
        raise Irregular from None


def _time(value: Any) -> Any:
    if value.__class__ is not str:
        return _null(value)
    try:
        return times.canonical(value) or ABSENT
    except times.TimeError:
        raise Irregular from None


def _micro_time(value: Any) -> Any:
    if value.__class__ is not str:
        return _null(value)
    try:
        return times.canonical_micro(value) or ABSENT
    except times.TimeError:
        raise Irregular from None


def _bytes(value: Any) -> Any:
    if value.__class__ is not str:
        return _null(value)
    try:
        return go_base64.canonical(value)
    except go_base64.Base64Error:
        raise Irregular from None


def _int_or_string(value: Any) -> Any:
    return value if value.__class__ is str else _int32(value)


_FORMATS: dict[str, Reader] = {
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "date-time": _time,
    "micro-time": _micro_time,
    "byte": _bytes,
}


def _zero(schema: Schema) -> Any:
    """The zero value that Go decodes from a null in a list or a map."""
    if schema.get("format") in ("quantity", "int-or-string"):
        return "0" if schema["format"] == "quantity" else 0
    if GO_FIELDS in schema:
        return {}
    text = schema.get("type") == "string" and "format" not in schema
    return "" if text else {"boolean": False, "integer": 0, "number": 0}.get(schema.get("type", ""))


def _list(items: Schema) -> Reader:
    plain, reader = _field(items)
    zero = _zero(items)

    def read(value: Any) -> Any:
        if value.__class__ is not list:
            return _null(value)
        for index, inner in enumerate(value):
            if inner.__class__ is plain:
                continue
            got = reader(inner)
            if got is not inner:
                value[index] = zero if got is ABSENT else got
        return value

    return read


def _map(values: Schema) -> Reader:
    plain, reader = _field(values)
    zero = _zero(values)

    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            return _null(value)
        for key, inner in value.items():
            if inner.__class__ is plain:
                continue
            got = reader(inner)
            if got is not inner:
                value[key] = zero if got is ABSENT else got
        return value

    return read


def _union(schema: Schema) -> Reader:
    reader, other = struct(schema["items"]), schema[GO_UNION]
    schemas = _list(schema["items"])
    texts = _list({"type": "string"})

    def read(value: Any) -> Any:
        if value.__class__ is dict:
            return reader.read(value)
        if value.__class__ is bool and other == "bool":
            return value
        if value.__class__ is list and other != "bool":
            return schemas(value) if other == "array" else texts(value)
        if value is None:
            return ABSENT
        raise Irregular

    return read
