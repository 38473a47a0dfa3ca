"""Column definitions of tables, and the printer of a kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from traincrew.apimachinery.durations import Ages
from traincrew.apimachinery.unstructured import Object


@dataclasses.dataclass(frozen=True)
class Printer:
    """The printer of one kind: the fields that a row needs, as a msgspec struct, and the function that returns the cells."""

    columns: tuple[Object, ...]
    type: Any
    cells: Callable[[Any, Ages], list[Any]]
    conditions: Callable[[Any], list[Object] | None] | None = None


def definitions(*names: str) -> tuple[Object, ...]:
    """`Ready`: a string; `Desired:integer`: an integer; `Attacher:string:name`: with a format; `Node*`: `-o wide`."""
    return tuple(_definition(*name.removesuffix("*").split(":"), wide=name.endswith("*")) for name in names)


def _definition(name: str, type: str = "string", format: str | None = None, *, wide: bool) -> Object:
    if format is None:
        format = "name" if name == "Name" else ""
    return {"name": name, "type": type, "format": format, "description": "", "priority": 1 if wide else 0}
