"""Retention: the revision up to which history may be compacted."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from traincrew.embedded.apiserver.storage.records import StorageLimits

COMPACTION_STEPS = 50
"""History is compacted in steps of one such fraction of the limits."""


class HistoryMark(NamedTuple):
    revision: int
    at: float
    bytes: int


class HistoryRetention:
    """Decides up to which revision history may be compacted. Times are those of a monotonic clock."""

    def __init__(self, limits: StorageLimits, compacted: int, bytes_kept: int) -> None:
        self._limits = limits
        self._cut = HistoryMark(compacted, 0.0, 0)
        self._last = self._cut
        self._bytes = bytes_kept
        self._marks: deque[HistoryMark] = deque()

    def note(self, now: float, revision: int, superseded: int) -> None:
        """After a commit: the newest revision and how many bytes of older states it left behind."""
        self._bytes += superseded
        limits, last = self._limits, self._last
        if revision > last.revision and (
            (revision - last.revision) * COMPACTION_STEPS >= limits.history_changes
            or (self._bytes - last.bytes) * COMPACTION_STEPS >= limits.history_bytes
            or (now - last.at) * COMPACTION_STEPS >= limits.history_age
        ):
            self._last = HistoryMark(revision, now, self._bytes)
            self._marks.append(self._last)

    def cut(self, now: float, revision: int) -> int:
        """The revision at which history is to begin."""
        limits, marks = self._limits, self._marks
        while marks and (
            revision - self._cut.revision > limits.history_changes
            or self._bytes - self._cut.bytes > limits.history_bytes
            or now - marks[0].at > limits.history_age
        ):
            self._cut = marks.popleft()
        return self._cut.revision

    @property
    def idle(self) -> bool:
        return not self._marks
