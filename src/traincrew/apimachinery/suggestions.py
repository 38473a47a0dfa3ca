"""Suggestions for misspelled words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The most similar known word. Empty if none is similar."""
    by_lower = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.75)
    return by_lower[matches[0]] if matches else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word."""
    suggestion = nearest(word, known)
    return f"; did you mean {suggestion!r}?" if suggestion else ""
