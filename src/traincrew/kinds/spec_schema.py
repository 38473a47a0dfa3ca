"""The JSON schema of a kind's own spec fields, derived from the struct that jobs are decoded to."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from traincrew.model import jobs

Metric = Annotated[dict[str, Any], msgspec.Meta(extra_json_schema={"$ref": "MetricSpec"})]
"""A metric of a HorizontalPodAutoscaler. The CRD takes its schema from Kubernetes."""

_COMMON = frozenset(field.name for field in msgspec.structs.fields(jobs.JobSpec))
_SCALARS: dict[type[Any], dict[str, str]] = {
    msgspec.inspect.IntType: {"type": "integer", "format": "int32"},
    msgspec.inspect.StrType: {"type": "string"},
    msgspec.inspect.BoolType: {"type": "boolean"},
}


def own_fields(spec: type[jobs.JobSpec]) -> dict[str, Any]:
    """Schemas by JSON name, without the fields that every kind has."""
    return {field.encode_name: _schema(field.type) for field in _struct(spec).fields if field.name not in _COMMON}


def _struct(spec: type[jobs.JobSpec]) -> msgspec.inspect.StructType:
    info = msgspec.inspect.type_info(spec)
    assert isinstance(info, msgspec.inspect.StructType)
    return info


def _schema(node: msgspec.inspect.Type) -> dict[str, Any]:
    if isinstance(node, msgspec.inspect.Metadata):
        return dict(node.extra_json_schema or {}) or _schema(node.type)
    if isinstance(node, msgspec.inspect.UnionType):  # X | None
        return _schema(next(each for each in node.types if not isinstance(each, msgspec.inspect.NoneType)))
    if isinstance(node, msgspec.inspect.StructType):
        return {"type": "object", "properties": {field.encode_name: _schema(field.type) for field in node.fields}}
    if isinstance(node, msgspec.inspect.ListType):
        return {"type": "array", "items": _schema(node.item_type)}
    return dict(_SCALARS[type(node)])
