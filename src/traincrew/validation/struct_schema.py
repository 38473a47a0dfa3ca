"""The schemas of structs, from the types and annotations of their fields."""

from __future__ import annotations

from typing import Any

import msgspec

Schema = dict[str, Any]


def schema(struct: type[msgspec.Struct]) -> Schema:
    return _node(msgspec.inspect.type_info(struct))


def own_fields(struct: type[msgspec.Struct], parent: type[msgspec.Struct]) -> dict[str, Schema]:
    """The schemas of the fields that the struct adds to those of its parent, by JSON name."""
    common = {field.name for field in msgspec.structs.fields(parent)}
    info = msgspec.inspect.type_info(struct)
    assert isinstance(info, msgspec.inspect.StructType)
    return {field.encode_name: _node(field.type) for field in info.fields if field.name not in common}


def _node(type_: msgspec.inspect.Type) -> Schema:
    match type_:
        case msgspec.inspect.Metadata(type=inner, extra_json_schema=extra):
            return dict(extra) if extra and "$ref" in extra else {**_node(inner), **(extra or {})}
        case msgspec.inspect.UnionType(types=types):
            (inner,) = (inner for inner in types if not isinstance(inner, msgspec.inspect.NoneType))
            return _node(inner)
        case msgspec.inspect.StructType(fields=fields):
            return _object(fields)
        case msgspec.inspect.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _node(value)}
        case msgspec.inspect.ListType(item_type=item) | msgspec.inspect.VarTupleType(item_type=item):
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
