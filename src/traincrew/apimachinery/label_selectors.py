"""Label selectors, read by the grammar of Kubernetes and with its words for what is wrong."""

from __future__ import annotations

import re

from traincrew.apimachinery import name_validation
from traincrew.apimachinery.api_errors import bad_request
from traincrew.apimachinery.selectors import Requirement

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+)")
_SYMBOLS = frozenset(("", ",", "(", ")", "=", "==", "!=", "<", ">", "!"))
_OPERATORS = {"=": "=", "==": "=", "!=": "!=", "<": "lt", ">": "gt", "in": "in", "notin": "notin"}


class _Bad(Exception):
    """Within a requirement."""


def parse(text: str) -> tuple[Requirement, ...]:
    """Raises a 400."""
    words = _Words(text)
    requirements = []
    while words.peek() != "":
        if words.peek() in _SYMBOLS and words.peek() != "!":
            raise bad_request(f"found '{words.peek()}', expected: !, identifier, or 'end of string'")
        try:
            requirements.append(_requirement(words))
        except _Bad as fault:
            raise bad_request(f"unable to parse requirement: {fault}") from None
        _check_end(words)
    return tuple(sorted(requirements))


def _check_end(words: _Words) -> None:
    """A comma with something after it, or nothing."""
    word = words.next()
    if word not in ("", ","):
        raise bad_request(f"found '{word}', expected: ',' or 'end of string'")
    if word == "," and words.peek() in _SYMBOLS and words.peek() != "!":
        raise bad_request(f"found '{words.peek()}', expected: identifier after ','")


class _Words:
    """The tokens of a text; empty at its end, however often one asks."""

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
        raise _Bad(f"found '{key}', expected: identifier")
    if faults := name_validation.qualified(key):
        raise _Bad(f'<nil>: Invalid value: "{key}": {"; ".join(faults)}')
    if absent:
        return Requirement(key, "!")
    if words.peek() in (",", ""):
        return Requirement(key, "exists")
    word = words.next()
    if word not in _OPERATORS:
        raise _Bad(f"found '{word}', expected: in, notin, =, ==, !=, gt, lt")
    operator = _OPERATORS[word]
    return _checked(key, operator, _set(words) if operator in ("in", "notin") else (_exact(words),))


def _exact(words: _Words) -> str:
    if words.peek() in ("", ","):
        return ""
    word = words.next()
    if word in _SYMBOLS:
        raise _Bad(f"found '{word}', expected: identifier")
    return word


def _set(words: _Words) -> tuple[str, ...]:
    if (word := words.next()) != "(":
        raise _Bad(f"found '{word}' expected: '('")
    if words.peek() in _SYMBOLS and words.peek() not in (",", ")"):
        raise _Bad(f"found '{words.peek()}', expected: ',', ')' or identifier")
    values: list[str] = []
    last = ","
    while (word := words.next()) != ")":
        if last != "," and word != ",":
            raise _Bad(f"found '{word}', expected: ',' or ')'")
        if word in _SYMBOLS and word != ",":
            raise _Bad(f"found '{word}', expected: ',', or identifier")
        if word != "," or last == ",":
            values.append("" if word == "," else word)
        last = word
    return tuple(sorted({*values, ""} if last == "," else set(values)))


def _checked(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    if operator in ("lt", "gt") and not re.fullmatch(r"[-+]?[0-9]{1,18}", values[0]):
        told = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise _Bad(f'values[0]: Invalid value: "{values[0]}": {told}')
    for index, value in enumerate(values):
        if faults := name_validation.label_value(value):
            raise _Bad(f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(faults)}')
    return Requirement(key, operator, values)
