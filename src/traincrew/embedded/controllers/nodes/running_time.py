"""The time in which this process ran. PURE: the caller names the clock."""

from __future__ import annotations

from collections.abc import Callable

MAX_STEP = 10.0
"""Seconds. Of a longer time between two readings, only this much counts."""


class RunningTime:
    """A node is lost when it was silent while this process listened. A laptop that was suspended and a process that was
    stopped heard nobody: that time is no silence. So each reading adds at most `MAX_STEP`, less than the time that is left
    to a node which renews its lease in time. Somebody has to read more often than that: the node lifecycle controller does.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._read = clock()
        self._seconds = 0.0

    def now(self) -> float:
        read = self._clock()
        self._seconds += min(max(read - self._read, 0.0), MAX_STEP)
        self._read = read
        return self._seconds
