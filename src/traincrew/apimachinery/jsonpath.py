"""JSONPath of printer columns: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`."""

from __future__ import annotations

import dataclasses
import functools
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from traincrew.apimachinery.string_cache import cached

MAX_VISITS = 20_000
"""Values that the paths of one table row may visit. Recursive descents (`..a..a..a`) could visit every value many times."""


class JSONPathError(ValueError):
    """The text is not a path that the API server accepts."""


class JSONPathMismatch(Exception):
    """The path does not fit the value: an index into an object, an item beyond the end of a list."""


class Visits:
    """Counts the values that are visited. Beyond the limit a path selects nothing."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_VISITS

    def add(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise JSONPathMismatch


Step = Callable[[Any, Visits], Iterator[Any]]


@dataclasses.dataclass(frozen=True)
class Path:
    steps: tuple[Step, ...]
    root: str = ""
    """The first field of the path; empty if it may read all fields."""

    def first(self, value: Any, visits: Visits | None = None) -> tuple[bool, Any]:
        """Whether the path selects anything, and the first result."""
        try:
            results = list(self.select(value, visits or Visits()))
        except JSONPathMismatch:
            return False, None
        return (True, results[0]) if results else (False, None)

    def select(self, value: Any, visits: Visits) -> Iterator[Any]:
        values: Iterator[Any] = iter((value,))
        for step in self.steps:
            values = _each(step, values, visits)
        return values


def _each(step: Step, values: Iterator[Any], visits: Visits) -> Iterator[Any]:
    for value in values:
        if value is not None:
            visits.add()
            yield from step(value, visits)


_FIELD = re.compile(r"\.((?:\\.|[^\s.,\[\]$@{}\\])+)")
_RECURSIVE = re.compile(r"\.\.(?:((?:\\.|[^\s.,\[\]$@{}\\])+))?")
_FILTER = re.compile(r"\[\?\(((?:[^'\")]|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")*)\)\]")
_BRACKET = re.compile(r"\[([^\]\n]*)\]")
_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?[0-9]{0,18})(:-?[0-9]{0,18})?(:-?[0-9]{0,18})?")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)


@cached(1024)
def parse(text: str) -> Path:
    """Raises JSONPathError."""
    steps: list[Step] = []
    root, position = "", 0
    while position < len(text):
        if text[position] in " $@":
            position += 1
            continue
        for form, read in _FORMS:
            if match := form.match(text, position):
                if not steps and form is _FIELD and match[1] != "*":
                    root = match[1].replace("\\", "")
                steps += read(match)
                position = match.end()
                break
        else:
            raise JSONPathError(text)
    return Path(tuple(steps), root)


def _read_field(match: re.Match[str]) -> list[Step]:
    name = match[1].replace("\\", "")
    return [_children] if name == "*" else [functools.partial(_field, name)]


def _read_recursive(match: re.Match[str]) -> list[Step]:
    return [_descendants, functools.partial(_field, match[1])] if match[1] else [_descendants]


def _read_filter(match: re.Match[str]) -> list[Step]:
    compared = _COMPARISON.fullmatch(match[1])
    if compared is None:
        return [functools.partial(_having, parse(match[1]))]
    if compared[2] not in _COMPARE:
        raise JSONPathError(match[0])
    return [functools.partial(_where, parse(compared[1]), _COMPARE[compared[2]], _operand(compared[3].strip()))]


def _read_bracket(match: re.Match[str]) -> list[Step]:
    inner = ":" if match[1] == "*" else match[1]
    if "," in inner:
        return [functools.partial(_union, tuple(parse(f"[{part.strip()}]") for part in inner.split(",")))]
    if key := _KEY.fullmatch(inner):
        return list(parse(f".{key[1]}").steps)
    chosen = _SLICE.fullmatch(inner)
    if chosen is None or not inner:
        raise JSONPathError(match[0])
    return [functools.partial(_items, chosen.groups())]


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], list[Step]]], ...] = (
    (_RECURSIVE, _read_recursive),
    (_FIELD, _read_field),
    (_FILTER, _read_filter),
    (_BRACKET, _read_bracket),
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def _operand(text: str) -> Any:
    """A quoted string, a number, true or false; else a path."""
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return parse(text)


def _field(name: str, value: Any, _visits: Visits) -> Iterator[Any]:
    if isinstance(value, dict) and name in value:
        yield value[name]


def _children(value: Any, _visits: Visits) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _descendants(value: Any, visits: Visits) -> Iterator[Any]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict | list) and each:
            visits.add()
            yield each
            pending += reversed([*_children(each, visits)])


def _items(bounds: tuple[str | None, ...], value: Any, _visits: Visits) -> Iterator[Any]:
    if not isinstance(value, list):
        raise JSONPathMismatch
    start, end, step = _bounds(bounds, len(value))
    if start == end:
        return
    if not (0 <= start < len(value) and 0 <= end <= len(value) and start < end) or step <= 0:
        raise JSONPathMismatch
    yield from value[start:end:step]


def _bounds(bounds: tuple[str | None, ...], length: int) -> tuple[int, int, int]:
    first, last, step = (None if each is None else each.lstrip(":") for each in bounds)
    start = int(first) if first else 0
    if last is None:
        end = start + 1
        end += length if end <= 0 else 0
    else:
        end = int(last) if last else length
        end += length if end < 0 else 0
    start += length if start < 0 else 0
    return start, end, int(step) if step else 1


def _union(paths: tuple[Path, ...], value: Any, visits: Visits) -> Iterator[Any]:
    for path in paths:
        visits.add()
        yield from path.select(value, visits)


def _having(path: Path, value: Any, visits: Visits) -> Iterator[Any]:
    for item in _as_list(value):
        visits.add()
        if path.first(item, visits)[0]:
            yield item


def _where(path: Path, compare: Callable[[Any, Any], bool], operand: Any, value: Any, visits: Visits) -> Iterator[Any]:
    for item in _as_list(value):
        visits.add()
        selected, left = path.first(item, visits)
        right = operand
        if isinstance(operand, Path):
            known, right = operand.first(item, visits)
            selected = selected and known
        if selected and _compare_values(compare, left, right):
            yield item


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise JSONPathMismatch
    return value


def _compare_values(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    # Only values of the same type are compared; anything else is an error and selects nothing.
    if type(left) is not type(right):
        raise JSONPathMismatch
    return compare(left, right)
