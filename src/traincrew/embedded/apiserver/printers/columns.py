"""The heads of a table's columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from traincrew.apimachinery.durations import Ages
from traincrew.apimachinery.resource_info import Object


@dataclasses.dataclass(frozen=True)
class Printer:
    """How one kind is printed: the fields that a row needs, as a msgspec struct, and the row's cells."""

    columns: tuple[Object, ...]
    type: Any
    cells: Callable[[Any, Ages], list[Any]]
    conditions: Callable[[Any], list[Object] | None] | None = None


def heads(*names: str) -> tuple[Object, ...]:
    """`Ready`: a string; `Desired:integer`: of that type; `Attacher:string:name`: with a format; `Node*`: shown if wide."""
    return tuple(_head(*name.removesuffix("*").split(":"), wide=name.endswith("*")) for name in names)


def _head(name: str, type: str = "string", format: str | None = None, *, wide: bool) -> Object:
    if format is None:
        format = "name" if name == "Name" else ""
    return {"name": name, "type": type, "format": format, "description": "", "priority": 1 if wide else 0}
