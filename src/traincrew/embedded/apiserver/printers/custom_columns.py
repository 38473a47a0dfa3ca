"""Rows of custom resources, by additionalPrinterColumns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from traincrew.apimachinery import jsonpath
from traincrew.apimachinery.durations import UNKNOWN, Ages
from traincrew.apimachinery.resource_info import Column, ResourceInfo
from traincrew.apimachinery.unstructured import Object

AGE = Column("Age", "date", ".metadata.creationTimestamp", "Since when the object exists")
_ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
_LARGEST = 2**63 - 1
MAX_ROW_CHARACTERS = 2**20
"""Further cells of a row are empty. Hundreds of columns may each show the whole object."""
_NAME: Object = {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}


def columns(info: ResourceInfo) -> list[Object]:
    return [_NAME, *(_head(column) for column, _ in _readable(info))]


def _readable(info: ResourceInfo) -> Iterator[tuple[Column, jsonpath.Path]]:
    """The columns up to the first one with an invalid path, where kube-apiserver stops."""
    for column in info.columns or (AGE,):
        try:
            yield column, jsonpath.parse(column.path)
        except jsonpath.JSONPathError:
            return


def _head(column: Column) -> Object:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description or f"Custom resource definition column (in JSONPath format): {column.path}",
        "priority": column.priority,
    }


class Cells:
    """Computes the rows of a resource. The paths are parsed once."""

    def __init__(self, info: ResourceInfo, ages: Ages) -> None:
        self._columns = [(column.type, path) for column, path in _readable(info)]
        self._decode = _decoder([path.root for _, path in self._columns])
        self._ages = ages

    def of(self, given: Object | bytes) -> list[Any]:
        kept = self._decode(given) if isinstance(given, bytes) else given
        row, visits, size = [kept["metadata"].get("name", "")], jsonpath.Visits(), 0
        for type, path in self._columns:
            cell = self._cell(type, path, kept, visits) if size <= MAX_ROW_CHARACTERS else None
            size += len(cell) if isinstance(cell, str) else 0
            row.append(cell)
        return row

    def _cell(self, type: str, path: jsonpath.Path, kept: Object, visits: jsonpath.Visits) -> Any:
        selected, value = path.first(kept, visits)
        if not selected:
            return None
        if isinstance(value, int) and not -_LARGEST - 1 <= value <= _LARGEST:
            value = float(value)
        if type == "string":
            return text(value)
        if type == "date":
            return self._age(value)
        return _typed(type, value)

    def _age(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return None
        if not value or value == "null":
            return UNKNOWN
        return self._ages.since(value)


def _decoder(roots: Iterable[str]) -> Callable[[bytes], Object]:
    """Decodes only the top-level fields that the paths use: most of a job is its pod template."""
    names = sorted({"metadata", *roots})
    if "" in names:
        return msgspec.json.decode
    rename = {f"f{index}": name for index, name in enumerate(names)}
    fields = [(each, Any, msgspec.UNSET) for each in rename]
    decode = msgspec.json.Decoder(msgspec.defstruct("Roots", fields, rename=rename)).decode

    def decoded(given: bytes) -> Object:
        read = decode(given)
        fields = ((name, getattr(read, each)) for each, name in rename.items())
        return {name: value for name, value in fields if value is not msgspec.UNSET}

    return decoded


def _typed(type: str, value: Any) -> Any:
    if type == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if type == "integer":
        # A value beyond 64 bits becomes the smallest int64, as in Go on amd64.
        return int(value) if -_LARGEST - 1 <= value <= _LARGEST else -_LARGEST - 1
    return float(value) if type == "number" else None


def text(value: Any) -> str:
    """A value in a column of strings: objects and lists as JSON with sorted keys."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, bool | dict | list):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).translate(_ESCAPED)
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    return repr(value)
