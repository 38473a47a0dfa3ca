"""A cache of functions of strings that come from clients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

MAX_KEY_LENGTH = 256
"""Longer strings are not cached: thousands of them, of a hundred kilobytes each, would fill the memory."""

T = TypeVar("T")


def cached(maxsize: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """functools.lru_cache for a function of one string."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        remembered = functools.lru_cache(maxsize)(function)

        @functools.wraps(function)
        def call(text: str, /) -> T:
            return remembered(text) if len(text) <= MAX_KEY_LENGTH else function(text)

        return call

    return decorate
