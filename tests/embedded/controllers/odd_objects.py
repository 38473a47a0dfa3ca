"""Variants of a minimal object: each field of its schema with a few values that say as little as possible. PURE."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

from traincrew.embedded.apiserver.schema import builtin_kinds
from traincrew.model.resources import Resource

Object = dict[str, Any]
Path = tuple[str | int, ...]
KEPT = ("apiVersion", "kind", "metadata", "status")
DEPTH = 5
"""Of the fields: `spec.claimRef.namespace` has 3."""


def variants(resource: Resource, minimal: Object) -> Iterator[tuple[str, Object]]:
    """With a description of the field and its value. Most of them are invalid."""
    schema = builtin_kinds.load().schema(resource.group, resource.version, resource.kind)
    for name, inner in schema["properties"].items():
        if name not in KEPT:
            yield from _vary(inner, minimal, (name,))


def _vary(schema: Any, obj: Object, path: Path) -> Iterator[tuple[str, Object]]:
    for value in _values(schema):
        yield f"{'.'.join(map(str, path))}={value!r}", _with(obj, path, value)
    if len(path) < DEPTH:
        for name, inner in schema.get("properties", {}).items():
            yield from _vary(inner, obj, (*path, name))
        if "properties" in schema.get("items", {}):
            yield from _vary(schema["items"], obj, (*path, 0))


def _values(schema: Any) -> Iterator[Any]:
    match schema.get("type"):
        case "object":
            yield {}
            if isinstance(schema.get("additionalProperties"), dict):
                yield from ({"a": value} for value in _values(schema["additionalProperties"]))
        case "array":
            yield []
            yield from ([value] for value in _values(schema["items"]))
        case "integer" | "number":
            yield from (0, 1)
        case "boolean":
            yield from (False, True)
        case _:
            yield from ("", "x")


def _with(obj: Object, path: Path, value: Any) -> Object:
    changed = copy.deepcopy(obj)
    place: Any = changed
    for name, following in itertools.pairwise(path):
        if isinstance(place, list):
            place += [{}] * (not place)
            place = place[0]
        else:
            place = place.setdefault(name, [] if following == 0 else {})
    if isinstance(place, list):
        place[:1] = [value]
    else:
        place[path[-1]] = value
    return changed
