"""The URLs of requests."""

from __future__ import annotations

import re
import urllib.parse

from traincrew import errors

_SIMPLE = re.compile(r"[A-Za-z0-9:_-][A-Za-z0-9.:_-]*")


def query(values: dict[str, str]) -> str:
    return "?" + urllib.parse.urlencode({key: value for key, value in values.items() if value})


def segment(text: str) -> str:
    """A name as a segment of a path. User input must not change the path."""
    if not text or _SIMPLE.fullmatch(text):
        return text
    if text.startswith("."):
        raise errors.Rejected(f"{text!r} is not a valid name", code=400, reason="BadRequest")
    return urllib.parse.quote(text, safe="")
