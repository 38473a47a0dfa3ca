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
    offset, length = 0, len(text)
    while True:
        taken, padded = 0, False
        while taken < 4 and not padded:
            if offset == length:
                return -1 if taken == 0 else offset - taken
            character = text[offset]
            offset += 1
            if character in "\r\n":
                continue
            if character == "=":
                padded = True
            elif character not in _BASE64:
                return offset - 1
            else:
                taken += 1
        if padded:
            return _padding_error(text, offset, taken)


def _padding_error(text: str, offset: int, taken: int) -> int:
    if taken < 2:
        return offset - 1
    offset = _past_breaks(text, offset)
    if taken == 2:
        if offset == len(text):
            return len(text)
        if text[offset] != "=":
            return offset - 1
        offset = _past_breaks(text, offset + 1)
    return offset if offset < len(text) else -1


def _past_breaks(text: str, offset: int) -> int:
    while offset < len(text) and text[offset] in "\r\n":
        offset += 1
    return offset
