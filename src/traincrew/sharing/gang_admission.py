"""Gangs that wait for admission although there is room: something else keeps them out, such as the capability of a queue.

Workers that leave for such a gang leave without effect. So after a while the gang is no demand any more, then it is tried again,
after longer and longer times.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping

from traincrew.apimachinery import backoff
from traincrew.model.meta import Time
from traincrew.sharing.cluster_snapshot import GangAttempt
from traincrew.sharing.demands import Demand
from traincrew.sharing.policy import SharingPolicy


class GangAdmission:
    def __init__(self, before: Mapping[str, GangAttempt], policy: SharingPolicy, now: Time) -> None:
        self._policy, self._now = policy, now
        self._before = {key: self._ended(attempt) for key, attempt in before.items()}
        self.attempts: dict[str, GangAttempt] = {}
        """Those of the gangs that still wait."""

    def _ended(self, attempt: GangAttempt) -> GangAttempt:
        """The attempt, or the pause after it if the gang was not admitted in time."""
        if attempt.room_since is None or self._now < self._end_of(attempt.room_since):
            return attempt
        failed = attempt.failed + 1
        delay = backoff.exponential_delay(failed, self._policy.initial_backoff, self._policy.max_backoff)
        return GangAttempt(failed, paused_until=self._now + dt.timedelta(seconds=delay))

    def _end_of(self, room_since: Time) -> Time:
        return room_since + dt.timedelta(seconds=self._policy.gang_admission)

    def is_paused(self, demand: Demand) -> bool:
        attempt = self._before.get(demand.key)
        if not demand.unadmitted or attempt is None or attempt.paused_until is None or self._now >= attempt.paused_until:
            return False
        self.attempts[demand.key] = attempt
        return True

    def observe(self, demand: Demand, *, room: bool) -> None:
        """room: the gang fits beside all others, and nobody has to leave any more."""
        if demand.unadmitted:
            attempt = self._before.get(demand.key, GangAttempt())
            since = (attempt.room_since or self._now) if room else None
            self.attempts[demand.key] = dataclasses.replace(attempt, room_since=since, paused_until=None)

    @property
    def requeue_times(self) -> list[Time]:
        ends = [self._end_of(each.room_since) for each in self.attempts.values() if each.room_since is not None]
        return ends + [each.paused_until for each in self.attempts.values() if each.paused_until is not None]
