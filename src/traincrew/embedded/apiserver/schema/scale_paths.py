"""The replica counts of a custom resource's /scale, validated apart from its schema."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import field_errors, go_format
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object

MAX_REPLICAS = 2**31 - 1


def paths(info: ResourceInfo) -> Object:
    """`subresources.scale` of the version; empty if there is none."""
    versions = info.definition["spec"]["versions"] if info.definition else ()
    mine: Object = next((each for each in versions if each["name"] == info.version), {})
    scale: Object = (mine.get("subresources") or {}).get("scale") or {}
    return scale


def check(obj: Object, info: ResourceInfo) -> list[FieldError]:
    scale = paths(info)
    return [*_count(obj, scale["specReplicasPath"]), *check_status(obj, info)] if scale else []


def check_status(obj: Object, info: ResourceInfo) -> list[FieldError]:
    scale = paths(info)
    if not scale:
        return []
    errors = _count(obj, scale["statusReplicasPath"])
    if selector := scale.get("labelSelectorPath"):
        value, error = _value_at(obj, selector, str, "string")
        if error:
            errors.append(field_errors.invalid(selector, value or "", error))
    return errors


def _count(obj: Object, path: str) -> list[FieldError]:
    value, error = _value_at(obj, path, int, "int64")
    if error:
        return [field_errors.invalid(path, 0, error)]
    if value is not None and value < 0:
        return [field_errors.invalid(path, value, "should be a non-negative integer")]
    if value is not None and value > MAX_REPLICAS:
        return [field_errors.invalid(path, value, f"should be less than or equal to {MAX_REPLICAS}")]
    return []


def _value_at(obj: Object, path: str, expected: type, named: str) -> tuple[Any, str]:
    value: Any = obj
    parts = path.removeprefix(".").split(".")
    for depth, part in enumerate(parts):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            return None, _accessor(parts[: depth + 1], value, "map[string]interface{}")
        if part not in value:
            return None, ""
        value = value[part]
    return (value, "") if type(value) is expected else (None, _accessor(parts, value, named))


def _accessor(parts: list[str], value: Any, expected: str) -> str:
    path = ".".join(parts)
    return f".{path} accessor error: {go_format.plain(value)} is of the type {go_format.type_name(value)}, expected {expected}"
