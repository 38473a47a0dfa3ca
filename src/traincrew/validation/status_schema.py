"""The schema of a job's status, derived from the structs in `model.status`."""

from __future__ import annotations

from typing import Any

import msgspec.inspect

from traincrew.model.status import JobStatus
from traincrew.validation import schema_descriptions, status_descriptions

Schema = dict[str, Any]


def status() -> Schema:
    schema = _node(msgspec.inspect.type_info(JobStatus))
    schema_descriptions.describe(schema, status_descriptions.STATUS)
    return schema


def _node(type_: msgspec.inspect.Type) -> Schema:
    match type_:
        case msgspec.inspect.Metadata(type=inner, extra_json_schema=extra):
            return {**_node(inner), **(extra or {})}
        case msgspec.inspect.UnionType(types=types):
            (inner,) = (inner for inner in types if not isinstance(inner, msgspec.inspect.NoneType))
            return _node(inner)
        case msgspec.inspect.StructType(fields=fields):
            return _object(fields)
        case msgspec.inspect.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _node(value)}
        case msgspec.inspect.ListType(item_type=item):
            return {"type": "array", "items": _node(item)}
        case _:
            return dict(_SCALARS[type(type_)])


def _object(fields: tuple[msgspec.inspect.Field, ...]) -> Schema:
    node: Schema = {"type": "object", "properties": {field.encode_name: _node(field.type) for field in fields}}
    required = [field.encode_name for field in fields if field.required]
    return {**node, "required": required} if required else node


_SCALARS: dict[type[msgspec.inspect.Type], Schema] = {
    msgspec.inspect.StrType: {"type": "string"},
    msgspec.inspect.BoolType: {"type": "boolean"},
    msgspec.inspect.IntType: {"type": "integer", "format": "int32"},
    msgspec.inspect.DateTimeType: {"type": "string", "format": "date-time"},
}
