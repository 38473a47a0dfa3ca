"""Objects as Go makes them when they are new: built-in kinds hold some fields from the start, and nobody owns those."""

from __future__ import annotations

from typing import Any

from traincrew.embedded.served import Object, Schema


def is_custom(api_version: str) -> bool:
    """Kinds of a CustomResourceDefinition are no structs of Go."""
    group = api_version.rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


def zero(schema: Schema, like: Object) -> Object:
    """A new object of the same kind."""
    fresh: Object = {"apiVersion": like["apiVersion"], "kind": like["kind"]}
    if is_custom(like["apiVersion"]):
        return fresh
    return {**_struct(schema, like), "metadata": {"creationTimestamp": None}, **fresh}


def _struct(schema: Schema, like: Any) -> Object:
    """`like` tells which of its fields are nulls: such are times that are not set."""
    required = schema.get("required", ())
    found: Object = {}
    for name, field in schema.get("properties", {}).items():
        seen = like.get(name) if isinstance(like, dict) else None
        if isinstance(field.get("default"), dict) and "properties" in field:
            found[name] = _struct(field, seen)
        elif name in required:
            found[name] = field.get("default")
        elif isinstance(like, dict) and name in like and seen is None:
            found[name] = None
    return found
