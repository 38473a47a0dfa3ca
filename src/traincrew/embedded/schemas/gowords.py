"""Pieces of Go's wording that an API server's messages are made of."""

from __future__ import annotations

import binascii
import re

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
