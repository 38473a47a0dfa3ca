"""Numbers like 1.0 where a schema has integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from traincrew.apimachinery.structural.schemas import Structure

_GONE = object()


def has_integral_floats(value: Any, node: Structure | None) -> bool:
    if node is None or value.__class__ is float:
        return node is not None and node.types == ("integer",)
    if value.__class__ is dict:
        return any(
            has_integral_floats(inner, node.child(key))
            for key, inner in value.items()
            if inner.__class__ is dict or inner.__class__ is list or inner.__class__ is float
        )
    return value.__class__ is list and node.items is not None and any(has_integral_floats(inner, node.items) for inner in value)


def variants(value: Any, node: Structure) -> Iterator[Any]:
    """The value with integers in place of these numbers, with other values, and without them, if anything is left of it."""
    for make in (int, lambda _: "", lambda _: _GONE):
        replaced = _replaced(value, node, make)
        if replaced is not _GONE:
            yield replaced


def _replaced(value: Any, node: Structure | None, make: Callable[[float], Any]) -> Any:
    if node is None:
        return value
    if value.__class__ is float:
        return make(value) if node.types == ("integer",) else value
    if value.__class__ is dict:
        replaced = {key: _replaced(inner, node.child(key), make) for key, inner in value.items()}
        return {key: inner for key, inner in replaced.items() if inner is not _GONE}
    if value.__class__ is list:
        return [each for each in (_replaced(inner, node.items, make) for inner in value) if each is not _GONE]
    return value
