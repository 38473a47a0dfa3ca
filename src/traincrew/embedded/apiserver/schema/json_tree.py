"""A parse tree of JSON: objects with ordered and duplicate keys, numbers as literals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


class Literal(str):
    """The literal of a number."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """The members of an object, in order."""

    __slots__ = ()


def parse(text: str) -> Any:
    """The tree of a valid JSON text. Raises RecursionError if it is too deep."""
    return json.loads(text, object_pairs_hook=Members, parse_int=Literal, parse_float=Literal)


def from_value(value: Any) -> Any:
    """The tree of a value read from YAML, with sorted keys as after a conversion to JSON."""
    if isinstance(value, dict):
        return Members((key, from_value(value[key])) for key in sorted(value))
    if isinstance(value, list):
        return [from_value(inner) for inner in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return Literal(int(value) if abs(value) < 1e21 and value == int(value) else value)


class TooLarge(ValueError):
    """A number beyond the range of a float."""

    def __init__(self, literal: str) -> None:
        super().__init__(f"json: cannot unmarshal number {literal} into Go value of type float64")


def number(literal: str) -> int | float:
    """An untyped number as Go decodes it: an int64 if it is written as an integer and fits, otherwise a float."""
    if "." not in literal:
        try:
            integer = int(literal)
            if -(2**63) <= integer < 2**63:
                return integer
        except ValueError:
            pass
    value = float(literal)
    if value in (float("inf"), float("-inf")):
        raise TooLarge(literal)
    return value


def plain(node: Any) -> Any:
    """The plain value; the last of duplicate keys counts."""
    if isinstance(node, Members):
        return {text(key): plain(inner) for key, inner in node}
    if isinstance(node, list):
        return [plain(inner) for inner in node]
    if isinstance(node, Literal):
        return number(node)
    return text(node) if isinstance(node, str) else node


def text(string: str) -> str:
    """Replaces unpaired surrogates."""
    if string.isascii():
        return string
    return string.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def duplicates(node: Any, path: str = "") -> Iterator[str]:
    """The paths of duplicate keys, each once."""
    if isinstance(node, Members):
        seen = set[str]()
        for key, inner in node:
            key_path = f"{path}.{key}" if path else key
            if key in seen:
                yield key_path
            seen.add(key)
            yield from duplicates(inner, key_path)
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield from duplicates(inner, f"{path}[{index}]")
