"""Items of associative lists and sets, by their path elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from traincrew.apimachinery.patches import path_elements
from traincrew.apimachinery.patches.typed_schemas import TypeDef


class MissingKeyError(ValueError):
    """An item lacks a key of its list."""


def path_element(item: Any, type_def: TypeDef) -> str:
    """The path element of an item of a list of this type."""
    return _key(item, type_def) if type_def.keys else _value(item)


def _key(item: Any, type_def: TypeDef) -> str:
    if item is None:
        raise MissingKeyError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise MissingKeyError("associative list with keys may not have non-map elements")
    keys = type_def.keys
    if len(keys) == 1 and type(value := item.get(keys[0])) is str:
        return path_elements.single_key_element(keys[0], value)
    values = {}
    for key in keys:
        if key in item:
            values[key] = item[key]
        elif type_def.defaults.get(key) is not None:
            values[key] = type_def.defaults[key]
        else:
            raise MissingKeyError(
                f'associative list with keys has an element that omits key field "{key}" (and doesn\'t have default value)'
            )
    return path_elements.key_element(values)


def _value(item: Any) -> str:
    if isinstance(item, dict):
        raise MissingKeyError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise MissingKeyError("not supported: associative list with lists as elements")
    if item is None:
        raise MissingKeyError("associative list without keys has an element that's an explicit null")
    return path_elements.value_element(item)


def group_by_element(items: Sequence[Any], type_def: TypeDef) -> dict[str, list[Any]]:
    """Items by their path elements. Items without one are omitted: no manager owns them."""
    groups: dict[str, list[Any]] = {}
    for item in items:
        try:
            name = path_element(item, type_def)
        except MissingKeyError:
            continue
        if name in groups:
            groups[name].append(item)
        else:
            groups[name] = [item]
    return groups
