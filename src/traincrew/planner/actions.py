"""The parts of a plan. Actions are values; the operator executes them."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from traincrew.model.meta import Time
from traincrew.model.resources import Resource
from traincrew.model.status import JobStatus

Manifest = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Create:
    """Create an object that the job owns (unless `owned` is false). An existing one is used if the job owns it, else reported."""

    resource: Resource
    name: str
    body: Manifest
    owned: bool = True
    shared: bool = False
    """An existing object of this name is used, even if another client created it."""
    generate: Literal["", "ssh-keypair"] = ""
    with_event: bool = False
    """The operator records an event on the job, such as SuccessfulCreatePod or FailedCreatePod."""
    first_attempt: bool = False
    """The status of the job proves that no operator has created the object before: an existing one is foreign."""

    @property
    def reference(self) -> str:
        return f"{self.resource.kind}/{self.name}"


@dataclasses.dataclass(frozen=True)
class Delete:
    """Delete the object with this UID, which is a precondition of the request."""

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
    """List the events of a pod that does not start."""

    pod: str
    uid: str


Action = Create | Delete | Patch | ListEvents


@dataclasses.dataclass(frozen=True)
class JobEvent:
    """An event on the job. Events with the same content and key are recorded once."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    key: str = ""


@dataclasses.dataclass(frozen=True)
class Plan:
    """The actions to execute now, and the time of the next reconcile if nothing happens before.

    Order of execution: the status is written, then the stages one after the other (the actions of one stage may run in
    parallel), then the events. If a step fails, the later ones are skipped; the next plan starts from the state observed then.
    """

    status: JobStatus | None = None
    """The new status, or None if it does not change."""
    stages: tuple[tuple[Action, ...], ...] = ()
    events: tuple[JobEvent, ...] = ()
    requeue_at: Time | None = None
    milestones: tuple[str, ...] = ()
    """Transitions for the metrics: created, successful, failed, restarted, deleted."""

    can_be_delayed: bool = False
    """Only the counts of pods changed: a delayed write may save further writes."""

    @property
    def empty(self) -> bool:
        return self.status is None and not any(self.stages) and not self.events


NO_ACTION = Plan()
