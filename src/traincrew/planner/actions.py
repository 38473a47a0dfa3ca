"""What a plan is made of. Actions are values; carrying them out is somebody else's work."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from traincrew.model.meta import Time
from traincrew.model.resources import Resource
from traincrew.model.status import JobStatus

Manifest = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Create:
    """Make an object that the job owns (unless `owned` is false). Creating what exists already is looked at, not an error."""

    resource: Resource
    name: str
    body: Manifest
    owned: bool = True
    shared: bool = False
    """An object of that name is good enough, whoever made it."""
    generate: Literal["", "ssh-keypair"] = ""
    with_event: bool = False
    """Told by an event on the job, as SuccessfulCreatePod and FailedCreatePod are."""


@dataclasses.dataclass(frozen=True)
class Delete:
    """Delete that very object: the UID goes along as a precondition."""

    resource: Resource
    name: str
    uid: str
    with_event: bool = False


@dataclasses.dataclass(frozen=True)
class Patch:
    """Merge-patch an existing object."""

    resource: Resource
    name: str
    body: Manifest
    subresource: str = ""


@dataclasses.dataclass(frozen=True)
class ListEvents:
    """Find out what components have said about a pod that does not come up."""

    pod: str
    uid: str


Action = Create | Delete | Patch | ListEvents


@dataclasses.dataclass(frozen=True)
class JobEvent:
    """Something to tell the user on the job. Two with the same content and key are one."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    key: str = ""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to do now, and when to look again if nothing happens before.

    Carried out in this order: the status is written, then the stages one after the other (what is in one stage may run in
    parallel), then the events. If a step fails the later ones are left undone; the next plan starts from what is then there.
    """

    status: JobStatus | None = None
    """The new status, or None if it stays as it is."""
    stages: tuple[tuple[Action, ...], ...] = ()
    events: tuple[JobEvent, ...] = ()
    requeue_at: Time | None = None
    milestones: tuple[str, ...] = ()
    """What has just become true of the job, for the counters: created, successful, failed, restarted, deleted."""

    can_be_delayed: bool = False
    """Nothing but counts of pods has changed: writing a little later may save writes."""

    @property
    def empty(self) -> bool:
        return self.status is None and not any(self.stages) and not self.events


NO_ACTION = Plan()
