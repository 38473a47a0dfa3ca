"""The state of the operator about one job that is not in the API server. It may be lost at any time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from traincrew.model import objects
from traincrew.model.observed import PodWarning, RejectedWrite, UnreadableObject
from traincrew.operator import create_backoff
from traincrew.operator.create_backoff import CreateBackoff, ObjectName
from traincrew.planner.actions import Plan


class UncertainStatus(NamedTuple):
    """A status write whose response was lost: the API server may have accepted it."""

    plan: Plan
    resource_version: str
    """Of the job from which the status was planned."""
    lost: tuple[str, ...]
    """UIDs of the vanished pods that the status accounts for."""


@dataclasses.dataclass
class JobMemory:
    vanished: dict[str, objects.Pod] = dataclasses.field(default_factory=dict)
    """Pods that are gone though this operator did not delete them, by UID, until a status accounts for them."""
    deletions: set[str] = dataclasses.field(default_factory=set)
    """UIDs of pods whose deletion this operator has requested."""
    known: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    rejections: dict[ObjectName, RejectedWrite] = dataclasses.field(default_factory=dict)
    retry_at: dict[ObjectName, float] = dataclasses.field(default_factory=dict)
    """When a create may be tried again whose name another object has (loop time)."""
    tries: dict[ObjectName, int] = dataclasses.field(default_factory=dict)
    backoff: CreateBackoff = dataclasses.field(default_factory=CreateBackoff)
    """Of the creates that were rejected for other reasons."""
    name_conflicts: dict[str, bool] = dataclasses.field(default_factory=dict)
    """References to objects that the operator must not read: whether others have taken the name."""
    conflict_since: dict[str, float] = dataclasses.field(default_factory=dict)
    """When this process first found the name taken (loop time)."""
    pod_events: dict[str, tuple[PodWarning, ...]] = dataclasses.field(default_factory=dict)
    batched_since: float | None = None
    """Since when a status that changes only counts is delayed (loop time)."""
    uncertain: UncertainStatus | None = None
    reported: dict[tuple[str, str], UnreadableObject] = dataclasses.field(default_factory=dict)
    """Unreadable objects that an event on the job and a log line have reported, by kind and name."""
    other_operator: str = ""
    """The message of the event that has reported that another operator is running."""
    rejected_status: str = ""
    """The resourceVersion of the job whose new status was rejected; it is not tried again before the job changes."""

    def may_try(self, name: ObjectName, now: float) -> bool:
        return self.retry_at.get(name, 0.0) <= now

    def accepted(self, name: ObjectName) -> None:
        for entries in (self.rejections, self.retry_at, self.tries):
            entries.pop(name, None)

    def rejected(self, name: ObjectName, rejection: RejectedWrite, now: float) -> float:
        """Returns the seconds until the next try."""
        self.rejections[name] = rejection
        if not rejection.foreign:
            return self.backoff.rejected(name, now)
        tries = self.tries[name] = self.tries.get(name, 0) + 1
        self.retry_at[name] = now + create_backoff.delay(tries)
        return self.retry_at[name] - now

    def wait_until(self, name: ObjectName, time: float) -> None:
        """An object of that name is terminating: try again at that time, and report no rejection."""
        self.rejections.pop(name, None)
        self.retry_at[name] = time

    def conflict(self, reference: str, now: float) -> float:
        """Others have taken the name of an object that the operator must not read. Returns for how long it is known."""
        self.name_conflicts[reference] = True
        return now - self.conflict_since.setdefault(reference, now)

    def end_conflict(self, reference: str) -> None:
        self.name_conflicts[reference] = False
        self.conflict_since.pop(reference, None)

    def name_freed(self, name: ObjectName) -> None:
        """An object of that name is gone: a create that waits for it may be tried."""
        self.retry_at.pop(name, None)

    def accounted_for(self, uids: Iterable[str]) -> None:
        """The loss of these pods is part of a decision."""
        for uid in uids:
            self.vanished.pop(uid, None)

    def keep_only(self, planned: set[ObjectName]) -> bool:
        """Drops rejections of objects that are no longer planned; True if any were dropped."""
        stale = [name for name in {**self.retry_at, **self.rejections} if name not in planned]
        for name in stale:
            self.accepted(name)
        for resource in self.backoff.retry_at.keys() - {resource for resource, _ in self.rejections}:
            self.backoff.end(resource)
        return bool(stale)
