"""Equality of JSON values. In Python True, 1 and 1.0 are equal; in JSON True is not a number.

Kubernetes compares in two ways, and so does this module: whole objects with reflect.DeepEqual, to which 1 and 1.0 are an int64
and a float64; owned fields with structured-merge-diff, to which they are the same number.
"""

from __future__ import annotations

from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


def deep_equal(one: Any, other: Any) -> bool:
    """reflect.DeepEqual of unstructured data: 1 and 1.0 differ."""
    return bool(one == other) and _encode_sorted(one) == _encode_sorted(other)


def values_equal(one: Any, other: Any) -> bool:
    """value.Equals of structured-merge-diff: 1 and 1.0 are equal."""
    if one is other:
        return True
    if one != other:
        return False
    if isinstance(one, dict):
        return all(values_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return all(map(values_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def quickly_equal(one: Any, other: Any) -> bool:
    """False may mean only that keys or numbers are written in another way: a quick check before one of the others."""
    if one is other:
        return True
    if one != other:
        return False
    if isinstance(one, dict | list):
        return _encode(one) == _encode(other)
    return type(one) is type(other)
