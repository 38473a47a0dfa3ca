"""Selectors of labels and fields in their string form: labels.Parse and fields.ParseSelector, and matching of requirements."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from traincrew.apimachinery import name_validation

IN, NOT_IN, EQUALS, NOT_EQUALS = "in", "notin", "=", "!="
EXISTS, DOES_NOT_EXIST, GREATER_THAN, LESS_THAN = "exists", "!", "gt", "lt"

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_SYMBOLS = frozenset(("", ",", "(", ")", "=", "==", "!=", "<", ">", "!"))
_OPERATORS = {"=": EQUALS, "==": EQUALS, "!=": NOT_EQUALS, "<": LESS_THAN, ">": GREATER_THAN, "in": IN, "notin": NOT_IN}
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FIELD_TERM = re.compile(r"(.*?)(!=|==|=)(.*)\Z", re.DOTALL)
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)


class SelectorError(ValueError):
    """The selector is malformed. The message is Kubernetes'."""


class Requirement(NamedTuple):
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return evaluate(self.operator, labels.get(self.key), self.values)


def matches(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    return all(requirement.matches(labels) for requirement in requirements)


def evaluate(operator: str, value: str | None, values: Collection[str]) -> bool:
    """Whether a label value (None: no label) meets a requirement. An unknown operator is never met."""
    if operator in (IN, EQUALS):
        return value is not None and value in values
    if operator in (NOT_IN, NOT_EQUALS):
        return value is None or value not in values
    if operator == EXISTS:
        return value is not None
    if operator == DOES_NOT_EXIST:
        return value is None
    if operator in (GREATER_THAN, LESS_THAN) and value is not None and len(values) == 1:
        return _compare(operator, value, next(iter(values)))
    return False


def _compare(operator: str, value: str, bound: str) -> bool:
    if not _INTEGER.fullmatch(value) or not _INTEGER.fullmatch(bound):
        return False
    return int(value) > int(bound) if operator == GREATER_THAN else int(value) < int(bound)


def format_labels(labels: Mapping[str, str]) -> str:
    """The string form of a set of labels, or of the selector of exactly these."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """labels.Parse. Raises SelectorError."""
    words = _Words(text)
    requirements = []
    while words.peek() != "":
        if words.peek() in _SYMBOLS and words.peek() != "!":
            raise SelectorError(f"found '{words.peek()}', expected: !, identifier, or 'end of string'")
        try:
            requirements.append(_requirement(words))
        except _RequirementError as error:
            raise SelectorError(f"unable to parse requirement: {error}") from None
        _check_end(words)
    return tuple(sorted(requirements))


class _RequirementError(Exception):
    pass


def _check_end(words: _Words) -> None:
    """A requirement ends at the end of the text, or at a comma that another one follows."""
    word = words.next()
    if word not in ("", ","):
        raise SelectorError(f"found '{word}', expected: ',' or 'end of string'")
    if word == "," and words.peek() in _SYMBOLS and words.peek() != "!":
        raise SelectorError(f"found '{words.peek()}', expected: identifier after ','")


class _Words:
    """The tokens of a text; the empty string at its end."""

    def __init__(self, text: str) -> None:
        self._words, self._at = _TOKEN.findall(text), 0

    def peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def next(self) -> str:
        word = self.peek()
        self._at += 1
        return word


def _requirement(words: _Words) -> Requirement:
    absent = words.peek() == "!"
    if absent:
        words.next()
    key = words.next()
    if key in _SYMBOLS:
        raise _RequirementError(f"found '{key}', expected: identifier")
    if messages := name_validation.qualified_name(key):
        raise _RequirementError(f'<nil>: Invalid value: "{key}": {"; ".join(messages)}')
    if absent:
        return Requirement(key, DOES_NOT_EXIST)
    if words.peek() in (",", ""):
        return Requirement(key, EXISTS)
    word = words.next()
    if word not in _OPERATORS:
        raise _RequirementError(f"found '{word}', expected: in, notin, =, ==, !=, gt, lt")
    operator = _OPERATORS[word]
    return _validated(key, operator, _set(words) if operator in (IN, NOT_IN) else (_exact(words),))


def _exact(words: _Words) -> str:
    if words.peek() in ("", ","):
        return ""
    word = words.next()
    if word in _SYMBOLS:
        raise _RequirementError(f"found '{word}', expected: identifier")
    return word


def _set(words: _Words) -> tuple[str, ...]:
    if (word := words.next()) != "(":
        raise _RequirementError(f"found '{word}' expected: '('")
    if words.peek() in _SYMBOLS and words.peek() not in (",", ")"):
        raise _RequirementError(f"found '{words.peek()}', expected: ',', ')' or identifier")
    values: list[str] = []
    last = ","
    while (word := words.next()) != ")":
        if last != "," and word != ",":
            raise _RequirementError(f"found '{word}', expected: ',' or ')'")
        if word in _SYMBOLS and word != ",":
            raise _RequirementError(f"found '{word}', expected: ',', or identifier")
        if word != "," or last == ",":
            values.append("" if word == "," else word)
        last = word
    return tuple(sorted({*values, ""} if last == "," else set(values)))


def _validated(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    if operator in (LESS_THAN, GREATER_THAN) and not _INTEGER.fullmatch(values[0]):
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise _RequirementError(f'values[0]: Invalid value: "{values[0]}": {detail}')
    for index, value in enumerate(values):
        if messages := name_validation.label_value(value):
            raise _RequirementError(f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(messages)}')
    return Requirement(key, operator, values)


FieldPath = Callable[[str], str]
"""Converts a field label to a field path."""


def parse_fields(text: str, path: FieldPath) -> tuple[Requirement, ...]:
    """fields.ParseSelector. Raises SelectorError, and the error of `path` for a field that selectors do not support."""
    requirements = [_field_requirement(part, text, path) for part in sorted(_split(text)) if part]
    return tuple(requirement for requirement in requirements if requirement is not None)


def _split(text: str) -> list[str]:
    parts, current, escaped = [], "", False
    for char in text:
        if not escaped and char == ",":
            parts.append(current)
            current = ""
        else:
            current += char
        escaped = char == "\\" and not escaped
    return [*parts, current]


def _field_requirement(part: str, text: str, path: FieldPath) -> Requirement | None:
    term = _FIELD_TERM.match(part)
    if term is None:
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
    key, operator, escaped = term.groups()
    value = _unescape(escaped)
    if not key and not value:
        return None  # nothing equals nothing
    return Requirement(path(key), NOT_EQUALS if operator == "!=" else EQUALS, (value,))


def _unescape(value: str) -> str:
    for match in _ESCAPED.finditer(value):
        if match[1] not in ("\\", ",", "="):
            raise SelectorError(f"invalid field selector: invalid escape sequence: {match[0]}")
    if "=" in _ESCAPED.sub("", value):
        raise SelectorError("invalid field selector: unescaped character in value: 61")  # Go prints its number
    return _ESCAPED.sub(r"\1", value)
