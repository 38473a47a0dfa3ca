"""Sets of replica indexes in the form that a batch Job's completedIndexes has: `0-2,5`."""

from __future__ import annotations

from collections.abc import Iterable


def parse(text: str) -> frozenset[int]:
    """The indexes; parts that are none are passed over, for the text comes from a status that anybody may have edited."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), min(int(last or first), int(first) + _LONGEST) + 1))
    return frozenset(found)


_LONGEST = 100_000


def render(indexes: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and index == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], index]
        else:
            runs.append([index])
    return ",".join("-".join(str(end) for end in run) for run in runs)
