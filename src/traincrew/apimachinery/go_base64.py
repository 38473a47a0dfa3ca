"""Base64 as Go decodes it: line breaks are allowed, and the errors are Go's."""

from __future__ import annotations

import binascii


class Base64Error(ValueError):
    """The text is not base64. The message is Go's."""


_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def canonical(text: str) -> str:
    """The same bytes in canonical base64. Raises Base64Error."""
    bare = text.replace("\n", "").replace("\r", "") if "\n" in text or "\r" in text else text
    try:
        return encode(binascii.a2b_base64(bare, strict_mode=True))
    except (binascii.Error, ValueError):
        pass
    if (offset := _first_error(text)) < 0:
        return encode(binascii.a2b_base64(bare))
    raise Base64Error(f"illegal base64 data at input byte {offset}")


def encode(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _first_error(text: str) -> int:
    """The offset at which Go finds that a text is not base64; -1 if it is."""
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
            return _padding_error(text, place, taken)


def _padding_error(text: str, place: int, taken: int) -> int:
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
