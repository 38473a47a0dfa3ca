"""Which pods a Job is short of, and which it has too many."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable

from traincrew.embedded.controllers.jobs import backoff, pod_indexes, policies
from traincrew.embedded.controllers.jobs.pod_counts import Census
from traincrew.embedded.controllers.pods import Pod

MOST = 500
"""Pods made or deleted at one go."""
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


@dataclasses.dataclass(frozen=True)
class Seat:
    """A pod to be made."""

    index: int | None = None
    replaces: Pod | None = None
    """The failed pod of the same index whose count of failures it takes over."""


@dataclasses.dataclass(frozen=True)
class Staffing:
    make: tuple[Seat, ...] = ()
    remove: tuple[Pod, ...] = ()
    wait: float = 0.0
    """Seconds until more may be made."""


def staffing(census: Census, record: backoff.Record, now: dt.datetime) -> Staffing:
    active = len(census.active)
    wanted = 0 if census.suspended else _wanted(census)
    if surplus := _surplus(census, max(0, active - wanted)):
        return Staffing(remove=tuple(surplus[:MOST]))
    if census.suspended:
        return Staffing()
    going = len(census.terminating) if policies.only_failed_are_replaced(census.spec) else 0
    short = wanted - going - active
    if short <= 0:
        return Staffing()
    if not census.per_index and (wait := backoff.remaining(record, now)) > 0:
        return Staffing(wait=wait)
    return _seats(census, min(short, MOST), now)


def _wanted(census: Census) -> int:
    parallelism, completions = int(census.spec["parallelism"]), census.spec.get("completions")
    if completions is None:
        return len(census.active) if census.succeeded else parallelism
    return max(0, min(parallelism, int(completions) - census.succeeded))


def _seats(census: Census, count: int, now: dt.datetime) -> Staffing:
    if not census.indexed:
        return Staffing(make=(Seat(),) * count)
    free = _free(census, count)
    if not census.per_index:
        return Staffing(make=tuple(Seat(index) for index in free))
    waits = {index: backoff.remaining_for_index(census.awaiting_replacement.get(index), now) for index in free}
    ready = [index for index in free if waits[index] == 0]
    if ready or not free:
        return Staffing(make=tuple(Seat(index, census.awaiting_replacement.get(index)) for index in ready))
    return Staffing(wait=min(waits.values()))


def _free(census: Census, count: int) -> list[int]:
    """The first indexes that nobody has or has had with success."""
    taken = {pod_indexes.of(pod) for pod in census.active} | census.completed
    if policies.only_failed_are_replaced(census.spec):
        taken |= {pod_indexes.of(pod) for pod in census.terminating}
    if census.per_index:
        taken |= census.failed_indexes
    found: list[int] = []
    for index in range(census.spec["completions"]):
        if len(found) == count:
            break
        if index not in taken:
            found.append(index)
    return found


def _surplus(census: Census, at_least: int) -> list[Pod]:
    """Those that take nobody's seat, then the ones that have done the least."""
    removed: list[Pod] = []
    left = list(census.active)
    if census.indexed:
        removed, left = _unseated(census)
    if len(removed) < at_least:
        removed += sorted(left, key=_worth)[: at_least - len(removed)]
    return removed


def _unseated(census: Census) -> tuple[list[Pod], list[Pod]]:
    removed, kept = [], {}
    for pod in sorted(census.active, key=_worth, reverse=True):
        index = pod_indexes.of(pod)
        if index is None or not census.valid(pod) or index in kept:
            removed.append(pod)
        else:
            kept[index] = pod
    return removed, list(kept.values())


def _worth(pod: Pod) -> tuple[bool, int, bool, float, int, float]:
    """Small: the first to go."""
    ready = pod.condition("Ready")
    since = ready.last_transition_time if ready is not None and pod.ready else None
    created = pod.metadata.creation_timestamp
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        pod.ready,
        -since.timestamp() if since else float("-inf"),
        -_most(status.restart_count for status in pod.status.container_statuses),
        -created.timestamp() if created else float("-inf"),
    )


def _most(counts: Iterable[int]) -> int:
    return max(counts, default=0)
