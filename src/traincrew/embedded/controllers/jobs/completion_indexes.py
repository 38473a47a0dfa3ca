"""Completion indexes: which pod has which, and how a Job's status writes a set of them."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.embedded.controllers.pods import Pod
from traincrew.model import indexes

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"
_LARGEST = 2**31 - 1


def of(pod: Pod) -> int | None:
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def parse(text: str, completions: int) -> frozenset[int]:
    return frozenset(each for each in indexes.parse(text) if each < completions)


def render(found: Iterable[int]) -> str:
    """As the Job controller writes it: `0,1` for two in a row, `0-2` for more."""
    runs: list[tuple[int, int]] = []
    for index in sorted(set(found)):
        if runs and index == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return ",".join(_run(first, last) for first, last in runs)


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}{',' if last == first + 1 else '-'}{last}"


def failures(pod: Pod) -> tuple[int, int]:
    """How often pods of its index have failed before it: counted, and ignored by policy."""
    return _number(pod, FAILURES), _number(pod, IGNORED)


def _number(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    value = int(text) if text.isascii() and text.isdecimal() else 0
    return value if value <= _LARGEST else 0
