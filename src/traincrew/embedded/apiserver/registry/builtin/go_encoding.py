"""The form in which the Go types of the API server encode an object.

Go drops empty fields that have `omitempty`, and writes the other fields even if they were not sent: an empty list of labels
vanishes, a container without resources gets `resources: {}`, a pod template gets `creationTimestamp: null`. Quantities and
times are rewritten. go_types.json holds the Go types: struct → field → type, a `?` before types that may be omitted, then

    s b i  string, boolean, number        q t u  quantity, time, time with microseconds        o x y  int-or-string, any, bytes
    *T pointer    [T list    {T map    :N the struct N
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew.apimachinery import quantities, times
from traincrew.apimachinery.unstructured import Object

Within = Callable[[Any], Any]
"""A value that is not empty → the same in its written form; dicts and lists are changed in place."""

_SCALARS = "sbi"
_ABSENT = object()


class _Tables(msgspec.Struct):
    kinds: dict[str, str]
    structs: dict[str, dict[str, str]]


class _Struct:
    """One Go struct. Filled after it is known by name, because structs contain themselves."""

    __slots__ = ("always", "empties", "nested")

    def __init__(self) -> None:
        self.nested: dict[str, Within] = {}
        self.empties: dict[str, Callable[[Any], Any]] = {}
        self.always: tuple[tuple[str, Callable[[], Any]], ...] = ()

    def form(self, obj: Any) -> Any:
        nested, empty = self.nested, None
        for key, value in obj.items():
            if value:
                if key in nested:
                    obj[key] = nested[key](value)
            elif empty is None:
                empty = [key]
            else:
                empty.append(key)
        if empty:
            self._settle(obj, empty)
        for key, zero in self.always:
            if key not in obj:
                obj[key] = zero()
        return obj

    def _settle(self, obj: Any, empty: list[str]) -> None:
        for key in empty:
            policy = self.empties.get(key)
            value = obj[key] if policy is None else policy(obj[key])
            if value is _ABSENT or (policy is None and value is None):
                del obj[key]
            else:
                obj[key] = value


@functools.cache
def _tables() -> _Tables:
    return msgspec.json.decode(importlib.resources.files(__package__).joinpath("go_types.json").read_bytes(), type=_Tables)


@functools.cache
def _struct(name: str) -> _Struct:
    struct = _Struct()
    _made[name] = struct
    always = []
    for field, code in _tables().structs[name].items():
        optional, kind = code.startswith("?"), code.lstrip("?")
        if (within := _within(kind)) is not None:
            struct.nested[field] = within
        struct.empties[field] = _when_empty(kind, optional)
        if not optional or kind[0] in "qtuo:":
            always.append((field, _zero(kind)))
    struct.always = tuple(always)
    return struct


_made: dict[str, _Struct] = {}


def _named(name: str) -> _Struct:
    return _made[name] if name in _made else _struct(name)


def _within(kind: str) -> Within | None:
    first, rest = kind[0], kind[1:]
    if first == ":":
        return _named(rest).form
    if first == "*":
        return _within(rest)
    if first == "[":
        return _list(rest)
    if first == "{":
        return _map(rest)
    return {"q": quantities.canonical, "t": time, "u": microtime}.get(first)


def _list(kind: str) -> Within | None:
    each = _within(kind)
    if each is None:
        return None
    inner = each
    absent: Callable[[], Any] = dict if kind[0] == ":" else str

    def form(values: Any) -> Any:
        for index, value in enumerate(values):
            values[index] = inner(value if value is not None else absent())
        return values

    return form


def _map(kind: str) -> Within | None:
    each: Within | None = quantities.round_up_to_milli if kind == "q" else _within(kind)
    if kind == "s":
        return _texts
    if each is None:
        return None
    inner = each

    def form(values: Any) -> Any:
        for key, value in values.items():
            values[key] = inner(value if value is not None else "0" if kind == "q" else {})
        return values

    return form


def _texts(values: Any) -> Any:
    for key, value in values.items():
        if value is None:
            values[key] = ""
    return values


def _when_empty(kind: str, optional: bool) -> Callable[[Any], Any]:
    """How null, "", 0, false, [] and {} are encoded."""
    first, rest = kind[0], kind[1:]
    if first == "*":
        if rest[0] == ":":
            return lambda value: (_ABSENT if optional else None) if value is None else _named(rest[1:]).form(value)
        return lambda value: (_ABSENT if optional else None) if value is None else "0" if rest == "q" else value
    if first == ":":
        return lambda value: _named(rest).form({} if value is None else value)
    if first in "qtuox":
        zero = _zero(kind)
        return lambda value: value if first in "ox" and value is not None else zero()
    if optional:
        return lambda value: _ABSENT
    zero = _zero(kind)
    return lambda value: zero()


def _zero(kind: str) -> Callable[[], Any]:
    first = kind[0]
    if first == ":":
        return lambda: _named(kind[1:]).form({})
    value = {"s": "", "b": False, "i": 0, "q": "0", "o": 0}.get(first)
    return lambda: value


def time(text: Any) -> Any:
    return _canonical_time(text, times.canonical)


def microtime(text: Any) -> Any:
    return _canonical_time(text, times.canonical_micro)


def _canonical_time(text: str, canonical: Callable[[str], str | None]) -> str | None:
    """A string that is not a time is left for validation to reject."""
    try:
        return canonical(text)
    except times.TimeError:
        return text


def normalize(obj: Object) -> None:
    """Encodes the object in place. Objects of kinds without a Go type are not changed."""
    name = _tables().kinds.get(f"{obj.get('apiVersion')}/{obj.get('kind')}")
    if name is not None:
        _named(name).form(obj)
