"""JSON values: when they are the same."""

from __future__ import annotations

from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: Python holds True and 1 for equal, JSON does not. 1 and 1.0 are the same."""
    if one is other:
        return True
    if one != other:
        return False
    if isinstance(one, dict):
        return all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def same_text(one: Any, other: Any) -> bool:
    """Written alike: 1 and 1.0 are not."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, dict):
        return all(same_text(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return all(map(same_text, one, other))
    return True


def surely_same(one: Any, other: Any) -> bool:
    """Quick: whether they are the same at a glance. They may be so without being written alike."""
    if one is other:
        return True
    if one != other:
        return False
    if isinstance(one, dict | list):
        return _encode(one) == _encode(other)
    return type(one) is type(other)
