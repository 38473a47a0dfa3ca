"""Terminal sizes, as concatenated JSON objects: {"Width":80,"Height":24}."""

from __future__ import annotations

import json
from typing import Any, TypeGuard

_MAX_BYTES = 64 * 1024
_LARGEST = 0xFFFF


class TerminalSizes:
    """An object may arrive in several messages. Invalid JSON ends the parsing."""

    def __init__(self) -> None:
        self._text = ""
        self._decoder = json.JSONDecoder()

    def feed(self, data: bytes) -> list[tuple[int, int]]:
        self._text = (self._text + data.decode("utf-8", "replace"))[:_MAX_BYTES]
        sizes = []
        while self._text:
            try:
                value, end = self._decoder.raw_decode(self._text)
            except ValueError:
                break
            self._text = self._text[end:].lstrip()
            if (size := _size(value)) is not None:
                sizes.append(size)
        return sizes


def _size(value: Any) -> tuple[int, int] | None:
    if not isinstance(value, dict):
        return None
    width, height = (value.get(name, value.get(name.lower(), 0)) for name in ("Width", "Height"))
    if not (_is_length(width) and _is_length(height)):
        return None
    return int(width), int(height)


def _is_length(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and 0 <= value <= _LARGEST
