"""Tombstones: the objects that were deleted, so that late changes do not bring them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

TTL = 300.0
"""Seconds. Changes are late by seconds, not minutes."""
MAX_ENTRIES = 100_000


class _Tombstone(NamedTuple):
    version: float
    until: float


class Tombstones:
    """UID → the version at which the object was deleted. An object of a later version exists again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tombstones: dict[str, _Tombstone] = {}

    def add(self, uid: str, version: float) -> None:
        """version: 0 is unknown and covers nothing; infinity covers every version of this UID."""
        now = self._clock()
        known = self._tombstones.pop(uid, None)
        if known is not None:
            version = max(version, known.version)
        if version:
            self._tombstones[uid] = _Tombstone(version, now + TTL)
        self._evict(now)

    def covers(self, uid: str, version: int) -> bool:
        tombstone = self._tombstones.get(uid)
        return tombstone is not None and version <= tombstone.version and self._clock() < tombstone.until

    def clear(self) -> None:
        self._tombstones.clear()

    def _evict(self, now: float) -> None:
        while self._tombstones:
            oldest = next(iter(self._tombstones))
            if len(self._tombstones) <= MAX_ENTRIES and self._tombstones[oldest].until > now:
                return
            del self._tombstones[oldest]
