"""A body as it is written: objects with their keys in order and every duplicate, numbers as their literals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


class Literal(str):
    """A number, as it is written."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """An object."""

    __slots__ = ()


def parse(text: str) -> Any:
    """The nodes of a valid JSON text. RecursionError if it is too deep."""
    return json.loads(text, object_pairs_hook=Pairs, parse_int=Literal, parse_float=Literal)


def of(value: Any) -> Any:
    """The nodes of what was read from YAML: through JSON, with its keys in order."""
    if isinstance(value, dict):
        return Pairs((key, of(value[key])) for key in sorted(value))
    if isinstance(value, list):
        return [of(inner) for inner in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return Literal(int(value) if abs(value) < 1e21 and value == int(value) else value)


class TooLarge(ValueError):
    """A number that no float holds."""

    def __init__(self, literal: str) -> None:
        super().__init__(f"json: cannot unmarshal number {literal} into Go value of type float64")


def number(literal: str) -> int | float:
    """As Go reads a number that may be anything: 64 bits if it is written as an integer and fits, else a float."""
    if "." not in literal:
        try:
            whole = int(literal)
            if -(2**63) <= whole < 2**63:
                return whole
        except ValueError:
            pass
    found = float(literal)
    if found in (float("inf"), float("-inf")):
        raise TooLarge(literal)
    return found


def plain(node: Any) -> Any:
    """The value, of duplicates the last."""
    if isinstance(node, Pairs):
        return {text(key): plain(inner) for key, inner in node}
    if isinstance(node, list):
        return [plain(inner) for inner in node]
    if isinstance(node, Literal):
        return number(node)
    return text(node) if isinstance(node, str) else node


def text(found: str) -> str:
    """Half of a surrogate pair stands for nothing."""
    if found.isascii():
        return found
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def duplicates(node: Any, path: str = "") -> Iterator[str]:
    """The paths of keys that an object has more than once, once each."""
    if isinstance(node, Pairs):
        seen = set[str]()
        for key, inner in node:
            place = f"{path}.{key}" if path else key
            if key in seen:
                yield place
            seen.add(key)
            yield from duplicates(inner, place)
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield from duplicates(inner, f"{path}[{index}]")
