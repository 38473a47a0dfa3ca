"""Some of the replicas of a job: a job may have ten thousand."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from traincrew.console.contract.replica_detail import ReplicaPage
from traincrew.console.view import job_filters, replicas
from traincrew.console.view.pods import ShownPod
from traincrew.console.view.replicas import ReplicaSlot
from traincrew.inspection.observed_job import ObservedJob

MAX_SHOWN = 500
"""Replicas of JobDetail. The others are read in pages."""
DEFAULT_LIMIT, MAX_LIMIT = 200, 1000
_HEALTHY_STATES = ("Running", "Succeeded")


class ReplicaQuery(NamedTuple):
    role: str = ""
    state: str = ""
    text: str = ""
    """A part of the name."""
    offset: int = 0
    limit: int = DEFAULT_LIMIT


def parse(parameters: Mapping[str, str]) -> ReplicaQuery:
    """Raise SettingsError."""
    offset, limit = parameters.get("offset") or "0", parameters.get("limit") or str(DEFAULT_LIMIT)
    return ReplicaQuery(
        role=parameters.get("role", ""),
        state=parameters.get("state", ""),
        text=parameters.get("q", "").lower(),
        offset=job_filters.whole_number("offset", offset),
        limit=min(job_filters.whole_number("limit", limit), MAX_LIMIT),
    )


def shown(slots: Sequence[ReplicaSlot], limit: int = MAX_SHOWN) -> list[ReplicaSlot]:
    """Replicas that do not run come before those that do; what remains is in order again."""
    if len(slots) <= limit:
        return list(slots)
    numbers = sorted(range(len(slots)), key=lambda number: (slots[number].state in _HEALTHY_STATES, number))
    return [slots[number] for number in sorted(numbers[:limit])]


def page(observed: ObservedJob, pods: Sequence[ShownPod], wanted: ReplicaQuery) -> ReplicaPage:
    of_role = [each for each in replicas.slots(observed, pods) if wanted.role in ("", each.role)]
    named = [each for each in of_role if wanted.text in replicas.name_of(observed, each)] if wanted.text else of_role
    found = [each for each in named if wanted.state in ("", each.state)]
    return ReplicaPage(
        replicas=[replicas.describe(observed, each) for each in found[wanted.offset : wanted.offset + wanted.limit]],
        offset=wanted.offset,
        total=len(found),
        counts=dict(collections.Counter(each.state for each in named)),
    )
