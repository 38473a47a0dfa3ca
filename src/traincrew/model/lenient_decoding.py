"""Decodes objects of which a part cannot be read: the part is left out and named.

The API server checks less than a decoder needs. It stores a time of the year 0, which Python's calendar does not have, and one
of the last second of the year 9999, to which nothing can be added.
"""

from __future__ import annotations

import datetime as dt
import re
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from traincrew.apimachinery import json_nesting

T = TypeVar("T")

_ABSENT = object()
_FAR_TIME = re.compile(rb'"(?:0[0-9]|1[0-8]|9[0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}[Tt]')
"""A time before the year 1900 or after 8999, with the quote before it. In a string it is found, too; then nothing is left out."""


class Unreadable(NamedTuple):
    """A part of an object that cannot be read."""

    path: str
    reason: str


class LenientDecoder(Generic[T]):
    def __init__(self, type_: Any, *, strict: bool = True) -> None:
        self._type, self._strict = type_, strict
        self._decode: Callable[[bytes], T] = msgspec.json.Decoder(type_, strict=strict).decode

    def decode(self, raw: bytes) -> tuple[T, tuple[Unreadable, ...]]:
        """The object, and what was left out. Raises ValidationError if the rest is no such object, or not its metadata."""
        try:
            obj = json_nesting.decode(self._decode, raw)
        except msgspec.ValidationError:
            pass
        else:
            if not _FAR_TIME.search(raw):
                return obj, ()
        unreadable: list[Unreadable] = []
        rest = self._readable(json_nesting.decode(msgspec.json.decode, raw), self._type, "", unreadable)
        if rest is _ABSENT or any(part.path.startswith("metadata") for part in unreadable):
            raise msgspec.ValidationError(f"{unreadable[0].path or 'object'}: {unreadable[0].reason}")
        return self._decode(msgspec.json.encode(rest)), tuple(unreadable)

    def _readable(self, value: Any, type_: Any, path: str, unreadable: list[Unreadable]) -> Any:
        """The value without its unreadable parts; _ABSENT if nothing can be read."""
        inner_unreadable: list[Unreadable] = []
        inner = _inner_types(value, type_)
        rest = _map(
            value, inner, path, lambda part, its_type, its_path: self._readable(part, its_type, its_path, inner_unreadable)
        )
        if error := self._error(rest, type_):
            unreadable.append(Unreadable(path, inner_unreadable[0].reason if inner_unreadable else error))
            return _ABSENT
        unreadable += inner_unreadable
        return rest

    def _error(self, value: Any, type_: Any) -> str:
        """Why the value cannot be read; empty if it can."""
        if isinstance(value, str) and dt.datetime in _alternatives(type_) and _FAR_TIME.match(f'"{value}'.encode()):
            return "The year is out of range"
        try:
            msgspec.json.decode(msgspec.json.encode(value), type=type_, strict=self._strict)
        except msgspec.ValidationError as error:
            return str(error).partition(" - at ")[0]
        return ""


def _map(value: Any, inner: dict[Any, Any], path: str, read: Callable[[Any, Any, str], Any]) -> Any:
    if isinstance(value, dict):
        dot = "." if path else ""
        parts = (
            (key, read(inner_value, inner[key], f"{path}{dot}{key}") if key in inner else inner_value)
            for key, inner_value in value.items()
        )
        return {key: part for key, part in parts if part is not _ABSENT}
    if isinstance(value, list) and inner:
        parts = ((index, read(inner_value, inner[index], f"{path}[{index}]")) for index, inner_value in enumerate(value))
        return [part for _, part in parts if part is not _ABSENT]
    return value


def _inner_types(value: Any, type_: Any) -> dict[Any, Any]:
    """The types of the parts of a value, by key or index."""
    for alternative in _alternatives(type_):
        origin, arguments = typing.get_origin(alternative) or alternative, typing.get_args(alternative)
        if isinstance(value, dict) and origin is dict and arguments:
            return dict.fromkeys(value, arguments[1])
        if isinstance(value, list) and origin is list and arguments:
            return dict.fromkeys(range(len(value)), arguments[0])
        if isinstance(value, dict) and isinstance(origin, type) and issubclass(origin, msgspec.Struct):
            return {field.encode_name: field.type for field in msgspec.structs.fields(alternative)}
    return {}


def _alternatives(type_: Any) -> Iterator[Any]:
    union = typing.get_origin(type_) in (types.UnionType, typing.Union)
    yield from typing.get_args(type_) if union else (type_,)
