"""Pieces of Go's wording that an API server's messages are made of."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterable

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", '"': '\\"', "\\": "\\\\"}
_QUOTED = re.compile(r'[\x00-\x1f"\\\x7f-\x9f\xad]|[^\x00-\x7f]')


def quote(text: str) -> str:
    """strconv.Quote."""
    return f'"{_QUOTED.sub(_escaped, text)}"'


def quote_character(character: str) -> str:
    return {"'": "'\\''", '"': "'\"'"}.get(character) or f"'{quote(character)[1:-1]}'"


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class NotBase64(ValueError):
    """The message is Go's."""


_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def base64(text: str) -> str:
    """The same bytes in canonical base64. Line breaks are allowed, as in Go."""
    bare = text.replace("\n", "").replace("\r", "") if "\n" in text or "\r" in text else text
    try:
        return encoded(binascii.a2b_base64(bare, strict_mode=True))
    except (binascii.Error, ValueError):
        pass
    if (offset := _first_fault(text)) < 0:
        return encoded(binascii.a2b_base64(bare))
    raise NotBase64(f"illegal base64 data at input byte {offset}")


def encoded(found: bytes) -> str:
    return binascii.b2a_base64(found, newline=False).decode()


def _first_fault(text: str) -> int:
    """Where Go finds that a text is no base64; -1 if it is."""
    place, length = 0, len(text)
    while True:
        taken, padded = 0, False
        while taken < 4 and not padded:
            if place == length:
                return -1 if taken == 0 else place - taken
            character = text[place]
            place += 1
            if character in "\r\n":
                continue
            if character == "=":
                padded = True
            elif character not in _BASE64:
                return place - 1
            else:
                taken += 1
        if padded:
            return _padding_fault(text, place, taken)


def _padding_fault(text: str, place: int, taken: int) -> int:
    if taken < 2:
        return place - 1
    place = _past_breaks(text, place)
    if taken == 2:
        if place == len(text):
            return len(text)
        if text[place] != "=":
            return place - 1
        place = _past_breaks(text, place + 1)
    return place if place < len(text) else -1


def _past_breaks(text: str, place: int) -> int:
    while place < len(text) and text[place] in "\r\n":
        place += 1
    return place


def shown(value: object) -> str:
    """A value within a field's error: texts quoted, numbers bare, the rest in Go's syntax; nil is the text null."""
    if value is None:
        return '"null"'
    if isinstance(value, dict | list):
        return _syntax(value)
    return quote(value) if isinstance(value, str) else printed(value)


def _syntax(value: object) -> str:
    """%#v of unstructured data."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quote(key)}:{_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_syntax, value))}}}"
    return "interface {}(nil)" if value is None else quote(value) if isinstance(value, str) else printed(value)


def printed(value: object) -> str:
    """%v of unstructured data."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(printed, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    return "<nil>" if value is None else str(value)


def number(value: float) -> str:
    """%v of a float64: the shortest digits that say it, with an exponent for what is long or tiny."""
    text = next((text for places in range(17) if float(text := f"{value:.{places}e}") == value), f"{value:.16e}")
    exponent = int(text.partition("e")[2])
    if exponent < -4 or exponent >= 6:
        return text
    digits = len(text.partition("e")[0].lstrip("-").replace(".", ""))
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def type_name(value: object) -> str:
    """%T of unstructured data."""
    names = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64", float: "float64"}
    return names.get(type(value), "<nil>")


def quoted_list(values: Iterable[str]) -> str:
    """A list of strings as Go's %q writes it."""
    return "[" + " ".join(json.dumps(value, ensure_ascii=False) for value in values) + "]"
