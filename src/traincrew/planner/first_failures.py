"""The failure that caused others. A replica that loses its peer may end before the one that failed, or be seen before it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

import msgspec

from traincrew.diagnosis import cause
from traincrew.model.status import Failure
from traincrew.planner import recorded_ends

RELATED = dt.timedelta(seconds=30)
"""Failures that are further apart have different causes."""
MAX_VICTIMS = 16
"""Replicas that a record names. A job may have thousands."""


def cause_of(recorded: Failure, others: Iterable[Failure]) -> Failure:
    """The failure that caused the recorded one, if the recorded one is a consequence; else the recorded one."""
    if recorded.disruption or not _is_consequence(recorded):
        return recorded
    causes = [each for each in others if _is_related(each, recorded) and not _is_consequence(each)]
    return min(causes, key=lambda each: (each.time, each.pod, each.uid), default=recorded)


def with_victims(recorded: Failure | None, others: Iterable[Failure]) -> Failure | None:
    """The record, with the replicas that failed because of it. They may fail, or be seen, later than it."""
    if recorded is None or recorded.disruption or len(recorded.victims) >= MAX_VICTIMS or _is_consequence(recorded):
        return recorded
    victims = [each.replica for each in others if _is_related(each, recorded) and _is_consequence(each)]
    named = tuple(dict.fromkeys([*recorded.victims, *victims]))[:MAX_VICTIMS]
    return recorded if named == recorded.victims else msgspec.structs.replace(recorded, victims=named)


def is_same(one: Failure, other: Failure | None) -> bool:
    """Equal, but for the victims that were seen so far, and for the evidence, which older operators did not record."""
    return other is not None and msgspec.structs.replace(one, victims=other.victims, evidence=other.evidence) == other


def _is_related(other: Failure, recorded: Failure) -> bool:
    if other.disruption or other.time is None or recorded.time is None or other.uid == recorded.uid:
        return False
    return abs(other.time - recorded.time) <= RELATED


def _is_consequence(record: Failure) -> bool:
    return cause.examine(recorded_ends.replica_end(record)).significance == "consequence"
