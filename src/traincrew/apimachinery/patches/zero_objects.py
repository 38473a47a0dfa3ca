"""New objects as Go creates them: built-in kinds have some fields from the start, which no manager owns."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object

_STRUCT, _TYPES = "x-go-struct", "x-go-fields"
_TIMES = ("date-time", "micro-time")


def is_custom(schema: Schema) -> bool:
    """Custom resources have no Go struct."""
    return _STRUCT not in schema


def zero_object(schema: Schema, like: Object) -> Object:
    """A new object of the same kind."""
    fresh: Object = {"apiVersion": like["apiVersion"], "kind": like["kind"]}
    return fresh if is_custom(schema) else _struct(schema) | fresh


def _struct(schema: Schema) -> Object:
    properties = schema.get("properties", {})
    struct: Object = {}
    for name, kind in schema[_TYPES].items():
        field, written = properties.get(name, {}), kind.endswith("!")
        if kind.startswith(("*", "[]", "map[")):
            if written:
                struct[name] = None
        elif _STRUCT in field:
            struct[name] = _struct(field)
        elif written or field.get("format") in _TIMES:
            struct[name] = _zero_value(field)
    return struct


def _zero_value(field: Schema) -> Any:
    if field.get("format") in _TIMES:
        return None
    return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(field.get("type", ""))
