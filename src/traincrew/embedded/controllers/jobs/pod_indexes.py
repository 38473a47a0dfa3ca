"""The completion index of a pod of an indexed Job, and the failures of its index, from its annotations."""

from __future__ import annotations

from traincrew.embedded.controllers.pods import Pod

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"
_LARGEST = 2**31 - 1


def of(pod: Pod) -> int | None:
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def failures(pod: Pod) -> tuple[int, int]:
    """The earlier failures of the index: counted, and ignored by policy."""
    return _number(pod, FAILURES), _number(pod, IGNORED)


def _number(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    value = int(text) if text.isascii() and text.isdecimal() else 0
    return value if value <= _LARGEST else 0
