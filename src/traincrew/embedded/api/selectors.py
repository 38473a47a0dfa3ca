"""Label and field selectors as an API server reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from traincrew.embedded.refusals import Refusal, bad_request

Values = Mapping[str, str]

_TOKEN = re.compile(r"\s*(==|!=|=|,|\(|\)|<|>|!|[^\s=!,()<>]+|$)")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?\Z")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_LONGEST = 63

VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


class Requirement(NamedTuple):
    key: str
    operator: str
    """in, notin, exists, !, =, !=, gt, lt."""
    values: tuple[str, ...] = ()

    def matches(self, labels: Values) -> bool:
        held = labels.get(self.key)
        if self.operator in ("in", "="):
            return held is not None and held in self.values
        if self.operator in ("notin", "!="):
            return held is None or held not in self.values
        if self.operator == "exists":
            return held is not None
        if self.operator == "!":
            return held is None
        return _compares(held, self.operator, self.values[0])


def _compares(held: str | None, operator: str, bound: str) -> bool:
    try:
        number = int(held or "")
    except ValueError:
        return False
    return number > int(bound) if operator == "gt" else number < int(bound)


class Selector(NamedTuple):
    """Both kinds of selector in one; an empty one matches everything."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, labels: Values, fields: Callable[[str], str]) -> bool:
        """`fields` gives the value of a field path."""
        for each in self.labels:
            if not each.matches(labels):
                return False
        return all((fields(each.key) in each.values) == (each.operator == "=") for each in self.fields)

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)


EVERYTHING = Selector()


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Raises Refusal (400) in the API server's words."""
    if not text.strip():
        return ()
    try:
        return _Parser(text).parse()
    except _Bad as fault:
        raise bad_request(f"unable to parse requirement: {fault}" if fault.wrapped else str(fault)) from None


class _Bad(Exception):
    def __init__(self, message: str, wrapped: bool = True) -> None:
        super().__init__(message)
        self.wrapped = wrapped


class _Parser:
    def __init__(self, text: str) -> None:
        self._words: list[str] = []
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None or not found[1]:
                break
            self._words.append(found[1])
            position = found.end()
        self._words.append("")
        self._at = 0

    def parse(self) -> tuple[Requirement, ...]:
        requirements = []
        while True:
            if self._peek() == "":
                break
            requirements.append(self._requirement())
            word = self._next()
            if word == "":
                break
            if word != ",":
                raise _Bad(f"found '{word}', expected: ',' or 'end of string'", wrapped=False)
            if self._peek() in (",", ""):
                raise _Bad(f"found '{self._peek()}', expected: identifier after ','", wrapped=False)
        return tuple(sorted(requirements))

    def _peek(self) -> str:
        return self._words[self._at]

    def _next(self) -> str:
        word = self._words[self._at]
        self._at = min(self._at + 1, len(self._words) - 1)
        return word

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._next()
        key = self._key()
        if absent:
            return Requirement(key, "!")
        if self._peek() in (",", ""):
            return Requirement(key, "exists")
        return self._compared(key)

    def _key(self) -> str:
        key = self._next()
        if key in ("", ",", "(", ")", "=", "==", "!=", "<", ">", "!"):
            raise _Bad(f"found '{key}', expected: !, identifier, or 'end of string'")
        _check_key(key)
        return key

    def _compared(self, key: str) -> Requirement:
        operator = self._next()
        if operator in ("in", "notin"):
            values = self._set()
        elif operator in ("=", "==", "!=", "<", ">"):
            values = (self._exact(),)
        else:
            raise _Bad(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        return _checked(key, operator, values)

    def _exact(self) -> str:
        if self._peek() in ("", ","):
            return ""
        word = self._next()
        if word in ("(", ")", "=", "==", "!=", "<", ">", "!"):
            raise _Bad(f"found '{word}', expected: identifier")
        return word

    def _set(self) -> tuple[str, ...]:
        if (word := self._next()) != "(":
            raise _Bad(f"found '{word}' expected: '('")
        values: list[str] = []
        last = ","
        while True:
            word = self._next()
            if word == ")":
                if last == ",":
                    values.append("")
                return tuple(sorted(set(values)))
            if word == ",":
                if last == ",":
                    values.append("")
            elif word in ("", "(", "=", "==", "!=", "<", ">", "!"):
                raise _Bad(f"found '{word}', expected: ',', ')' or identifier")
            elif last != ",":
                raise _Bad(f"found '{word}', expected: ',' or ')'")
            else:
                values.append(word)
            last = "," if word == "," else "value"


_OPERATORS = {"==": "=", "<": "lt", ">": "gt"}


def _checked(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    operator = _OPERATORS.get(operator, operator)
    if operator in ("lt", "gt"):
        if not re.fullmatch(r"[-+]?[0-9]+", values[0]):
            told = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _Bad(f'values[0]: Invalid value: "{values[0]}": {told}')
        return Requirement(key, operator, values)
    for index, value in enumerate(values):
        if len(value) > _LONGEST:
            raise _Bad(f'values[{index}][{key}]: Invalid value: "{value}": must be no more than 63 characters')
        if not _VALUE.match(value):
            raise _Bad(f'values[{index}][{key}]: Invalid value: "{value}": {VALUE_RULE}')
    return Requirement(key, operator, values)


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if slash and not _PREFIX.match(prefix):
        rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
        rule += " end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        rule += r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        raise _Bad(f'<nil>: Invalid value: "{key}": prefix part {rule}')
    if len(name) > _LONGEST:
        raise _Bad(f'<nil>: Invalid value: "{key}": name part must be no more than 63 characters')
    if not _NAME.match(name):
        raise _Bad(f'<nil>: Invalid value: "{key}": {NAME_RULE}')


def parse_fields(text: str, supported: Callable[[str], bool]) -> tuple[Requirement, ...]:
    """Raises Refusal (400) for a malformed selector or a field that cannot be selected by."""
    requirements = []
    for part in _split(text):
        if part:
            requirements.append(_field(part, text, supported))
    return tuple(requirements)


def _split(text: str) -> list[str]:
    parts, current, escaped = [], "", False
    for char in text:
        if not escaped and char == ",":
            parts.append(current)
            current = ""
        else:
            current += char
        escaped = char == "\\" and not escaped
    return [*parts, current] if current or parts else []


def _field(part: str, text: str, supported: Callable[[str], bool]) -> Requirement:
    found = re.match(r"([^=!]*)(!=|==|=)(.*)\Z", part, re.DOTALL)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    key, operator, value = found.groups()
    if not supported(key):
        raise _unsupported(key)
    return Requirement(key, "!=" if operator == "!=" else "=", (_unescaped(value),))


def _unsupported(key: str) -> Refusal:
    return bad_request(f"field label not supported: {key}")


def _unescaped(value: str) -> str:
    return re.sub(r"\\([\\,=])", r"\1", value)
