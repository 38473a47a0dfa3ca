"""Uniqueness of entries in lists of type set and map."""

from __future__ import annotations

import json
from typing import Any

from traincrew.apimachinery.structural import violations
from traincrew.apimachinery.structural.schemas import Structure
from traincrew.apimachinery.structural.violations import MapKey, Path, SchemaViolation


def validate(value: Any, node: Structure, path: Path = ()) -> list[SchemaViolation]:
    errors: list[SchemaViolation] = []
    _walk(value, node, path, errors)
    return errors


def _walk(value: Any, node: Structure, path: Path, errors: list[SchemaViolation]) -> None:
    if not node.has_lists:
        return
    if value.__class__ is dict:
        for key, inner in value.items():
            if inner.__class__ is not dict and inner.__class__ is not list:
                continue
            child = node.child(key)
            if child is not None and child.has_lists:
                _walk(inner, child, (*path, key if key in node.properties else MapKey(key)), errors)
    elif value.__class__ is list:
        if node.list_type == "set":
            if len(value) > 1:
                errors += [
                    SchemaViolation(violations.DUPLICATE, (*path, index), value[index], node) for index in _repeated(value)
                ]
        elif node.list_type == "map":
            errors += _map_violations(value, node, path)
        if node.items is not None:
            for index, inner in enumerate(value):
                _walk(inner, node.items, (*path, index), errors)


def _repeated(values: list[Any]) -> list[int]:
    """The index of the first duplicate of each value; later ones are not reported."""
    seen: dict[Any, int] = {}
    indexes = []
    for index, value in enumerate(values):
        identity = (type(value), json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value)
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:
            indexes.append(index)
    return indexes


def _plainly_unique(values: list[Any], keys: list[str]) -> bool:
    """The fast path, for entries that have all their keys."""
    try:
        identities = [tuple([value[key] for key in keys]) for value in values if value.__class__ is dict]
        return len(set(identities)) == len(values)
    except (KeyError, TypeError):
        return False


def _map_violations(values: list[Any], node: Structure, path: Path) -> list[SchemaViolation]:
    if _plainly_unique(values, node.keys):
        return []
    for index, value in enumerate(values):
        if value is not None and not isinstance(value, dict):
            return [SchemaViolation(violations.NO_MAP_ENTRY, (*path, index), value, node)]
    keys = [{key: value[key] for key in node.keys if key in value} if value else {} for value in values]
    return [SchemaViolation(violations.DUPLICATE, (*path, index), keys[index], node) for index in _repeated(keys)]
