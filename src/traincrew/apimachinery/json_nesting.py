"""The nesting of JSON texts. An API server stores texts that are nested 10,000 levels deep; our decoders are recursive."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MAX_DEPTH = 200
"""No object that Kubernetes defines comes near it. What is deeper stands in a field that nobody knows."""

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{\]}]')


def decode(decoder: Callable[[bytes], T], text: bytes) -> T:
    """Decodes a text of any depth. What is too deep for the decoder is left out."""
    try:
        return decoder(text)
    except RecursionError:
        return decoder(limited(text))


def limited(text: bytes, depth: int = MAX_DEPTH) -> bytes:
    """The same valid JSON text, in which lists and objects at this depth are empty."""
    if text.count(b"[") + text.count(b"{") < depth:
        return text
    kept: list[bytes] = []
    level, start = 0, 0
    for token in _TOKENS.finditer(text):
        if token[0] in b"[{":
            level += 1
            if level == depth:
                kept.append(text[start : token.end()])
        elif token[0] in b"]}":
            if level == depth:
                start = token.start()
            level -= 1
    return b"".join((*kept, text[start:])) if kept else text
