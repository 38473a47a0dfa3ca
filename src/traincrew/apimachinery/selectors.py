"""Selectors of labels and fields: what they ask, and whether an object is what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

Values = Mapping[str, str]


class Requirement(NamedTuple):
    key: str
    operator: str
    """in, notin, exists, !, =, !=, gt, lt."""
    values: tuple[str, ...] = ()

    def matches(self, labels: Values) -> bool:
        held = labels.get(self.key)
        if self.operator in ("in", "="):
            return held is not None and held in self.values
        if self.operator in ("notin", "!="):
            return held is None or held not in self.values
        if self.operator == "exists":
            return held is not None
        if self.operator == "!":
            return held is None
        return _compares(held, self.operator, self.values[0])


def _compares(held: str | None, operator: str, bound: str) -> bool:
    try:
        number = int(held or "")
    except ValueError:
        return False
    return number > int(bound) if operator == "gt" else number < int(bound)


class Selector(NamedTuple):
    """Both kinds of selector in one; an empty one matches everything."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, labels: Values, fields: Callable[[str], str]) -> bool:
        """`fields` gives the value of a field path."""
        for each in self.labels:
            if not each.matches(labels):
                return False
        return all((fields(each.key) in each.values) == (each.operator == "=") for each in self.fields)

    def named(self, name: str) -> Selector:
        """The same, of one object alone; an empty name changes nothing."""
        return self._replace(fields=(*self.fields, Requirement("metadata.name", "=", (name,)))) if name else self

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)


EVERYTHING = Selector()
