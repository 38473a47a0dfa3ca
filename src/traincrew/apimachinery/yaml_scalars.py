"""The values of plain YAML scalars, as kubectl resolves them: YAML 1.1 without dates and sexagesimal numbers."""

from __future__ import annotations

import math
import re

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_MAX_INTEGER_LENGTH = 100
"""Characters of an integer of 64 bits: longer ones are floats, or text."""


class NotFinite(ValueError):
    """Infinity or NaN, which JSON does not have."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text} is no number that Kubernetes can hold; put it in quotes to have it as text")
        self.text = text


def plain(text: str) -> str | int | float | bool | None:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if _INFINITE.fullmatch(text):
        raise NotFinite(text)
    if not text[0].isascii() or text[0] not in "+-.0123456789" or _DATE.match(text):
        return text
    digits = text.replace("_", "") if text[0] != "." else text
    if len(digits) <= _MAX_INTEGER_LENGTH and _INTEGER.fullmatch(digits):
        whole = _integer(digits)
        if -(2**63) <= whole < 2**64:
            return whole
    if _FLOAT.fullmatch(digits) and math.isfinite(number := float(digits)):
        return number
    return text


def _integer(digits: str) -> int:
    sign, number = (digits[0], digits[1:]) if digits[0] in "+-" else ("", digits)
    if len(number) > 1 and number[0] == "0" and number[1].isdigit():
        number = "0o" + number[1:]
    return int(sign + number, 0)
