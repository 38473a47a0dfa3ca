"""Violations of a structural schema. The API server words them as field errors, `traincrew validate` as findings."""

from __future__ import annotations

from typing import Any, NamedTuple

from traincrew.apimachinery.structural.schemas import Structure

Path = tuple[str | int, ...]
"""Keys and list indexes from the root of the value."""


class MapKey(str):
    """The key of an entry of additionalProperties: some paths write it in brackets."""

    __slots__ = ()


TYPE, FORMAT_TYPE, FORMAT, PATTERN, ENUM = "type", "format type", "format", "pattern", "enum"
MIN_LENGTH, MAX_LENGTH = "minLength", "maxLength"
MINIMUM, MAXIMUM, MULTIPLE_OF, INVALID_FACTOR = "minimum", "maximum", "multipleOf", "invalid multipleOf"
MIN_ITEMS, MAX_ITEMS, UNIQUE_ITEMS = "minItems", "maxItems", "uniqueItems"
MIN_PROPERTIES, MAX_PROPERTIES, REQUIRED = "minProperties", "maxProperties", "required"
COMPOSITE = "composite"
"""allOf, anyOf, oneOf or not: `limit` is the message."""
DUPLICATE, NO_MAP_ENTRY = "duplicate", "no entry of a list map"


class Violation(NamedTuple):
    rule: str
    path: Path
    value: Any
    """The offending value: the value itself, the number of its items, or the keys of a duplicate entry."""
    node: Structure
    limit: Any = None
    """The limit that the rule sets."""
