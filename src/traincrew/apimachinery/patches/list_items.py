"""Items of lists that are not owned as a whole, by the path elements that name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from traincrew.apimachinery.patches import path_elements
from traincrew.apimachinery.patches.typed_schemas import TypeDef


class MissingKeyError(ValueError):
    """An item that lacks what it is named by."""


def path_element(item: Any, shape: TypeDef) -> str:
    """The path element of one item in a list of this shape."""
    return _key(item, shape) if shape.keys else _value(item)


def _key(item: Any, shape: TypeDef) -> str:
    if item is None:
        raise MissingKeyError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise MissingKeyError("associative list with keys may not have non-map elements")
    keys = shape.keys
    if len(keys) == 1 and type(value := item.get(keys[0])) is str:
        return path_elements.single_key_element(keys[0], value)
    values = {}
    for key in keys:
        if key in item:
            values[key] = item[key]
        elif shape.defaults.get(key) is not None:
            values[key] = shape.defaults[key]
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


def group_by_element(items: Sequence[Any], shape: TypeDef) -> dict[str, list[Any]]:
    """Items by their path elements. What cannot be named is left out: nobody owns it."""
    found: dict[str, list[Any]] = {}
    for item in items:
        try:
            name = path_element(item, shape)
        except MissingKeyError:
            continue
        if name in found:
            found[name].append(item)
        else:
            found[name] = [item]
    return found
