"""The failure that caused others. A replica that loses its peer may end before the one that failed, or be seen before it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from traincrew.diagnosis import cause
from traincrew.model.status import Failure
from traincrew.planner import failure_records

RELATED = dt.timedelta(seconds=30)
"""Failures that are further apart have different causes."""


def cause_of(recorded: Failure, others: Iterable[Failure]) -> Failure:
    """The failure that caused the recorded one, if the recorded one is a consequence; else the recorded one."""
    if recorded.disruption or not _is_consequence(recorded):
        return recorded
    causes = [each for each in others if _is_related(each, recorded) and not _is_consequence(each)]
    return min(causes, key=lambda each: (each.time, each.pod, each.uid), default=recorded)


def _is_related(other: Failure, recorded: Failure) -> bool:
    if other.disruption or other.time is None or recorded.time is None or other.uid == recorded.uid:
        return False
    return abs(other.time - recorded.time) <= RELATED


def _is_consequence(record: Failure) -> bool:
    return cause.examine(failure_records.replica_end(record)).significance == "consequence"
