"""Lists of indexes as jobs write them: `0-3,5`."""

from __future__ import annotations

import re

from traincrew.apimachinery import go_format

_NUMBER = re.compile("[+-]?[0-9]+")


def count(text: str, completions: int) -> int:
    """How many; ValueError with Kubernetes' words if it is no such list."""
    return sum(last - first + 1 for first, last in intervals(text, completions))


def intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        first, last = _interval(part, completions)
        if found and found[-1][1] >= first:
            raise ValueError(f"non-increasing order, previous: {found[-1][1]}, current: {first}")
        found.append((first, last))
    return found


def _interval(part: str, completions: int) -> tuple[int, int]:
    limits = part.split("-")
    if len(limits) > 2:
        words = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise ValueError(f"the fragment {go_format.quote(part)} {words}")
    numbers = [_number(each, completions) for each in limits]
    if len(numbers) > 1 and numbers[0] >= numbers[1]:
        raise ValueError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _number(text: str, completions: int) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"cannot convert string to integer for index: {go_format.quote(text)}")
    if int(text) >= completions:
        raise ValueError(f"too large index: {go_format.quote(text)}")
    return int(text)
