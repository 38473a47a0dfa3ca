"""Which objects have gone, so that late news of them do not bring them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

LIFE = 300.0
"""Seconds; news are late by seconds, not minutes."""
MOST = 100_000


class _Stone(NamedTuple):
    version: float
    until: float


class Tombstones:
    """uid → the version at which the object went. What is of a later version is alive again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stones: dict[str, _Stone] = {}

    def add(self, uid: str, version: float) -> None:
        """version 0: not known, which covers nothing; infinite: whatever is told of this uid is late."""
        now = self._clock()
        known = self._stones.pop(uid, None)
        if known is not None:
            version = max(version, known.version)
        if version:
            self._stones[uid] = _Stone(version, now + LIFE)
        self._drop_old(now)

    def covers(self, uid: str, version: int) -> bool:
        stone = self._stones.get(uid)
        return stone is not None and version <= stone.version and self._clock() < stone.until

    def clear(self) -> None:
        self._stones.clear()

    def _drop_old(self, now: float) -> None:
        while self._stones:
            oldest = next(iter(self._stones))
            if len(self._stones) <= MOST and self._stones[oldest].until > now:
                return
            del self._stones[oldest]
