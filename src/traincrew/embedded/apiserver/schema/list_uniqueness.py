"""Uniqueness of entries in lists of type set and map."""

from __future__ import annotations

import json
from typing import Any

from traincrew.apimachinery import field_errors, go_format
from traincrew.apimachinery.field_errors import FieldError
from traincrew.embedded.apiserver.schema.structural_schemas import Structure


def check(value: Any, node: Structure, path: str = "") -> list[FieldError]:
    errors: list[FieldError] = []
    _walk(value, node, path, errors)
    return errors


def _walk(value: Any, node: Structure, path: str, errors: list[FieldError]) -> None:
    if not node.has_lists:
        return
    if value.__class__ is dict:
        for key, inner in value.items():
            if inner.__class__ is not dict and inner.__class__ is not list:
                continue
            child = node.child(key)
            if child is not None and child.has_lists:
                named = key in node.properties
                _walk(inner, child, (f"{path}.{key}" if path else key) if named else f"{path}[{key}]", errors)
    elif value.__class__ is list:
        if node.list_type == "set":
            if len(value) > 1:
                errors += [_duplicate(path, index, value[index]) for index in _repeated(value)]
        elif node.list_type == "map":
            errors += _map_faults(value, node, path)
        if node.items is not None:
            for index, inner in enumerate(value):
                _walk(inner, node.items, f"{path}[{index}]", errors)


def _duplicate(path: str, index: int, value: Any) -> FieldError:
    return FieldError(field_errors.DUPLICATE, f"{path}[{index}]", f"Duplicate value: {go_format.field_value(value)}")


def _repeated(values: list[Any]) -> list[int]:
    """The index of the first duplicate; later ones are not reported."""
    seen: dict[Any, int] = {}
    found = []
    for index, value in enumerate(values):
        mark = (type(value), json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value)
        seen[mark] = seen.get(mark, 0) + 1
        if seen[mark] == 2:
            found.append(index)
    return found


def _plainly_unique(values: list[Any], keys: list[str]) -> bool:
    """The fast path, for entries that have all their keys."""
    try:
        marks = [tuple([value[key] for key in keys]) for value in values if value.__class__ is dict]
        return len(set(marks)) == len(values)
    except (KeyError, TypeError):
        return False


def _map_faults(values: list[Any], node: Structure, path: str) -> list[FieldError]:
    if _plainly_unique(values, node.keys):
        return []
    for index, value in enumerate(values):
        if value is not None and not isinstance(value, dict):
            told = f"Invalid value: {go_format.field_value(value)}: must be an object for an array of list-type map"
            return [FieldError(field_errors.INVALID, f"{path}[{index}]", told)]
    keys = [{key: value[key] for key in node.keys if key in value} if value else {} for value in values]
    return [_duplicate(path, index, keys[index]) for index in _repeated(keys)]
