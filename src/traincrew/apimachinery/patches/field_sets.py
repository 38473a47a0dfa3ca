"""Sets of fields, in the form of fieldsV1: nested dicts by path element.

`{}` below an element: the field is in the set. Anything else: fields below it are, and itself if "." is among the keys.
The root is no field: `{}` is the empty set there. Sets are immutable, so they are shared freely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from traincrew.apimachinery.patches import path_elements

Fields = dict[str, Any]

SELF = "."
FIELD: Fields = {}
"""A field with nothing below it."""
EMPTY: Fields = {}


def is_member(node: Fields) -> bool:
    return not node or SELF in node


def member(below: Fields) -> Fields:
    """The field itself, with the fields below it."""
    return {SELF: FIELD, **below} if below and SELF not in below else below


def from_paths(paths: Iterable[tuple[str, ...]]) -> Fields:
    """A set of named fields."""
    result: Fields = {}
    for path in paths:
        node: Fields = FIELD
        for name in reversed(path):
            node = {f"f:{name}": node}
        result = union(result, node)
    return result


def union(one: Fields, other: Fields) -> Fields:
    if not one or one is other:
        return other
    if not other:
        return one
    result = dict(one)
    for key, node in other.items():
        result[key] = _union(result[key], node) if key in result else node
    return result


def _union(one: Fields, other: Fields) -> Fields:
    if not one:
        return member(other)
    return member(one) if not other else union(one, other)


def difference(one: Fields, other: Fields) -> Fields:
    """Without the fields of the other set; fields below them stay. Returns the same object if nothing is removed."""
    return _reduced(one, other, _difference)


def _difference(one: Fields, other: Fields) -> Fields | None:
    if not one:
        return None if is_member(other) else one
    left = difference(one, other or {SELF: FIELD})
    if left is one:
        return one
    return FIELD if len(left) == 1 and SELF in left else left or None


def recursive_difference(one: Fields, other: Fields) -> Fields:
    """Without the fields of the other set and all fields below them."""
    return _reduced(one, other, _recursive_difference)


def _recursive_difference(one: Fields, other: Fields) -> Fields | None:
    if is_member(other):
        return None
    if not one:
        return one
    left = recursive_difference(one, other)
    if left is one:
        return one
    return FIELD if len(left) == 1 and SELF in left else left or None


def _reduced(one: Fields, other: Fields, left_of: Callable[[Fields, Fields], Fields | None]) -> Fields:
    """Every field that both have is replaced by what is left of it. Returns the same object if nothing changes."""
    result: Fields | None = None
    for key in other if len(other) < len(one) else one:
        if key in one and key in other:
            left = left_of(one[key], other[key])
            if left is one[key]:
                continue
            result = dict(one) if result is None else result
            if left is None:
                del result[key]
            else:
                result[key] = left
    return one if result is None else result


def intersection(one: Fields, other: Fields) -> Fields:
    result = {}
    for key in one if len(one) < len(other) else other:
        if key in one and key in other:
            both = _intersection(one[key], other[key])
            if both is not None:
                result[key] = both
    return result


def _intersection(one: Fields, other: Fields) -> Fields | None:
    below = intersection(one, other)
    below.pop(SELF, None)
    if is_member(one) and is_member(other):
        return member(below)
    return below or None


def has(fields: Fields, path: tuple[str, ...]) -> bool:
    node = fields
    for element in path:
        if element not in node:
            return False
        node = node[element]
    return is_member(node)


def paths(fields: Fields, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """In the order of the API server: the fields of a level come first."""
    keys = sorted((key for key in fields if key != SELF), key=path_elements.sort_key)
    yield from ((*before, key) for key in keys if is_member(fields[key]))
    for key in keys:
        if fields[key]:
            yield from paths(fields[key], (*before, key))


def ordered(fields: Fields) -> Fields:
    """The same set with its keys in the order of the API server."""
    keys = sorted(fields) if all(key[0] in "f." for key in fields) else sorted(fields, key=path_elements.sort_key)
    return {key: ordered(node) if (node := fields[key]) else node for key in keys}


def decode(fields: Any) -> Fields:
    """Decodes a set from a client. Raises ValueError."""
    if not isinstance(fields, dict):
        raise ValueError(fields)
    result: Fields = {}
    for key, node in fields.items():
        if key == SELF:
            result[SELF] = FIELD
        elif (element := path_elements.normalize(key)) is not None:
            result[element] = decode(node) if node else FIELD
    return FIELD if len(result) == 1 and SELF in result else result
