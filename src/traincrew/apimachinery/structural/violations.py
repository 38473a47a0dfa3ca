"""Violations of a structural schema. The API server words them as field errors, `traincrew validate` as findings."""

from __future__ import annotations

from typing import Any, NamedTuple

from traincrew.apimachinery.structural.schemas import Structure
from traincrew.apimachinery.structural.validation_cost import ValidationCost

Path = tuple[str | int, ...]
"""Keys and list indexes from the root of the value."""


class MapKey(str):
    """The key of an entry of additionalProperties: some paths write it in brackets."""

    __slots__ = ()


UNFINISHED = "unfinished"
"""The validation exceeded a limit: `limit` says which."""
TYPE, FORMAT_TYPE, FORMAT, PATTERN, ENUM = "type", "format type", "format", "pattern", "enum"
MIN_LENGTH, MAX_LENGTH = "minLength", "maxLength"
MINIMUM, MAXIMUM, MULTIPLE_OF, INVALID_FACTOR = "minimum", "maximum", "multipleOf", "invalid multipleOf"
MIN_ITEMS, MAX_ITEMS, UNIQUE_ITEMS = "minItems", "maxItems", "uniqueItems"
MIN_PROPERTIES, MAX_PROPERTIES, REQUIRED = "minProperties", "maxProperties", "required"
COMPOSITE = "composite"
"""allOf, anyOf, oneOf or not: `limit` is the message."""
DUPLICATE, NO_MAP_ENTRY = "duplicate", "no entry of a list map"


class SchemaViolation(NamedTuple):
    rule: str
    path: Path
    value: Any
    """The offending value: the value itself, the number of its items, or the keys of a duplicate entry."""
    node: Structure
    limit: Any = None
    """The limit that the rule sets."""


class Violations(list[SchemaViolation]):
    """The violations of a value, and what the validation has cost. Adding to it may raise LimitExceeded."""

    __slots__ = ("cost", "tried")

    def __init__(self, cost: ValidationCost, *, tried: bool = False) -> None:
        super().__init__()
        self.cost = cost
        self.tried = tried
        """Of one of several alternatives: it may be discarded."""

    def add(self, violation: SchemaViolation) -> None:
        if self.tried:
            self.cost.add_steps(1)
        else:
            self.cost.add_violation()
        self.append(violation)

    def add_all(self, violations: Violations) -> None:
        for each in violations:
            self.add(each)
