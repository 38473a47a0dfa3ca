"""What the operator remembers of one job beside what the API server holds. All of it may be lost at any moment."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from traincrew.model import objects
from traincrew.model.observed import PodEvent, Refusal
from traincrew.model.resources import Resource
from traincrew.planner.actions import Plan

Name = tuple[Resource, str]

FIRST_RETRY, LONGEST_RETRY = 1.0, 60.0


class Unsure(NamedTuple):
    """A status that was written, and nobody knows whether it was taken: no answer came."""

    plan: Plan
    version: str
    """The job's, from which it was planned."""
    lost: tuple[str, ...]
    """Vanished pods that it takes into account."""


@dataclasses.dataclass
class Notebook:
    vanished: dict[str, objects.Pod] = dataclasses.field(default_factory=dict)
    released: set[str] = dataclasses.field(default_factory=set)
    known: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    refusals: dict[Name, Refusal] = dataclasses.field(default_factory=dict)
    retry_at: dict[Name, float] = dataclasses.field(default_factory=dict)
    """When a create that was refused, or must wait for an earlier object to go, may be tried again (loop time)."""
    tries: dict[Name, int] = dataclasses.field(default_factory=dict)
    pod_events: dict[str, tuple[PodEvent, ...]] = dataclasses.field(default_factory=dict)
    waiting_since: float | None = None
    """Since when a change of mere counts is held back (loop time)."""
    unsure: Unsure | None = None
    rejected_status: str = ""
    """The version of the job whose new status the API server refused; it is not tried again before the job changes."""

    def may_try(self, name: Name, now: float) -> bool:
        return self.retry_at.get(name, 0.0) <= now

    def accepted(self, name: Name) -> None:
        for notes in (self.refusals, self.retry_at, self.tries):
            notes.pop(name, None)

    def refused(self, name: Name, refusal: Refusal, now: float) -> bool:
        """True if that is news."""
        news = self.refusals.get(name) != refusal
        tries = self.tries.get(name, 0)
        self.tries[name] = tries + 1
        self.refusals[name] = refusal
        self.retry_at[name] = now + min(FIRST_RETRY * 2.0 ** min(tries, 10), LONGEST_RETRY)
        return news

    def wait_for(self, name: Name, moment: float) -> None:
        """An object of that name is on its way out: try again then, without complaint."""
        self.refusals.pop(name, None)
        self.retry_at[name] = moment

    def name_is_free(self, name: Name) -> None:
        """An object of that name has gone: what waits for that need not wait longer."""
        self.retry_at.pop(name, None)

    def reckoned(self, uids: Iterable[str]) -> None:
        """A decision has taken the loss of these pods into account."""
        for uid in uids:
            self.vanished.pop(uid, None)

    def keep_only(self, wanted: set[Name]) -> bool:
        """Drops complaints about what is no longer wanted; True if there were any."""
        stale = [name for name in {**self.retry_at, **self.refusals} if name not in wanted]
        for name in stale:
            self.accepted(name)
        return bool(stale)
