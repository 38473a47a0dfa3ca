"""Exponential back-off."""

from __future__ import annotations


def exponential_delay(failures: int, first: float, longest: float) -> float:
    """Seconds before the next attempt: `first`, doubled with each further failure, at most `longest`. failures: 1 or more."""
    return min(first * 2.0 ** min(max(failures - 1, 0), 64), longest)
