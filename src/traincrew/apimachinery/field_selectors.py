"""Field selectors, read by the grammar of Kubernetes and with its words for what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable

from traincrew.apimachinery.api_errors import bad_request
from traincrew.apimachinery.selectors import Requirement

_TERM = re.compile(r"(.*?)(!=|==|=)(.*)\Z", re.DOTALL)
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)

Field = Callable[[str], str]
"""The path that a name stands for. Raises a 400 for what cannot be selected by."""


def parse(text: str, field: Field) -> tuple[Requirement, ...]:
    """Raises a 400 for a malformed selector or a field that cannot be selected by."""
    found = [_requirement(part, text, field) for part in sorted(_split(text)) if part]
    return tuple(each for each in found if each is not None)


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


def _requirement(part: str, text: str, field: Field) -> Requirement | None:
    found = _TERM.match(part)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    key, operator, written = found.groups()
    value = _unescaped(written)
    if not key and not value:
        return None  # nothing equals nothing
    return Requirement(field(key), "!=" if operator == "!=" else "=", (value,))


def _unescaped(value: str) -> str:
    for found in _ESCAPED.finditer(value):
        if found[1] not in ("\\", ",", "="):
            raise bad_request(f"invalid field selector: invalid escape sequence: {found[0]}")
    if "=" in _ESCAPED.sub("", value):
        raise bad_request("invalid field selector: unescaped character in value: 61")  # Go prints its number
    return _ESCAPED.sub(r"\1", value)
