"""How long workers on idle capacity stay in this cluster.

The estimate is the time that they have lived, divided by how many were removed for others. So workers that still live count, too.
Both are forgotten after a while, and then the estimate is what it was in the beginning.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from traincrew.model.meta import Time

EXPECTED = 600.0
"""Seconds that a worker is expected to stay while nothing is known."""
WEIGHT = 3.0
"""How many removed workers this expectation is worth."""
MEMORY = 3600.0
"""Seconds after which an observation counts only 1/e of what it counted."""


@dataclasses.dataclass(frozen=True)
class SurplusLifetimes:
    lived: float = 0.0
    """Seconds of all workers."""
    removed: float = 0.0
    """The number of workers that were removed for others, or with their node."""
    until: Time | None = None
    """The time of the last observation."""

    @property
    def mean(self) -> float:
        return (WEIGHT * EXPECTED + self.lived) / (WEIGHT + self.removed)

    def observed(self, known: int, new: Iterable[Time], removed: int, now: Time) -> SurplusLifetimes:
        """known: how many workers ran at the last observation. new: since when the others run."""
        passed = max((now - self.until).total_seconds(), 0.0) if self.until is not None else 0.0
        kept = math.exp(-passed / MEMORY)
        ages = (max((now - since).total_seconds(), 0.0) for since in new)
        lived = known * _remembered(passed) + sum(map(_remembered, ages))
        return SurplusLifetimes(self.lived * kept + lived, self.removed * kept + removed, now)


def _remembered(seconds: float) -> float:
    """What is remembered of a time that has just passed."""
    return MEMORY * (1.0 - math.exp(-seconds / MEMORY))
