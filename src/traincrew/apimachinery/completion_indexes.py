"""Sets of completion indexes in the form of a Job's completedIndexes: `0-2,5`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from traincrew.apimachinery import go_format

_NUMBER = re.compile("[+-]?[0-9]+")
_LONGEST_RUN = 100_000


def parse(text: str, completions: int | None = None) -> frozenset[int]:
    """The indexes, only those below `completions` if it is given.

    Malformed parts are skipped and long runs are cut: the text comes from a status that any client may have edited.
    """
    indexes: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            end = int(first) + _LONGEST_RUN if completions is None else completions - 1
            indexes.update(range(int(first), min(int(last or first), end) + 1))
    return frozenset(indexes)


def render(indexes: Iterable[int], shortest_run: int = 3) -> str:
    """Runs are written by their ends. The Job controller writes two in a row as `0,1`, the training operator as `0-1`."""
    runs: list[tuple[int, int]] = []
    for index in sorted(set(indexes)):
        if runs and index == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return ",".join(_render_run(first, last, shortest_run) for first, last in runs)


def _render_run(first: int, last: int, shortest_run: int) -> str:
    if last - first + 1 >= shortest_run:
        return f"{first}-{last}"
    return ",".join(map(str, range(first, last + 1)))


def validate(text: str, completions: int) -> int:
    """The number of indexes. Raises ValueError with Kubernetes' message for a list that is not increasing or too large."""
    return sum(last - first + 1 for first, last in _intervals(text, completions))


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    intervals: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        first, last = _interval(part, completions)
        if intervals and intervals[-1][1] >= first:
            raise ValueError(f"non-increasing order, previous: {intervals[-1][1]}, current: {first}")
        intervals.append((first, last))
    return intervals


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
