"""The status of a job: the fields of the Go operators, and fields of our own."""

from __future__ import annotations

from typing import Annotated

import msgspec

from traincrew.model.meta import Struct, Time


class Condition(Struct, gc=False):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_update_time: Time | None = None
    last_transition_time: Time | None = None


class ReplicaStatus(Struct, gc=False):
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    selector: str = ""
    completed_indexes: str = ""
    """Indexes of replicas that succeeded, such as `0-2,5`. They are not run again if their pods are deleted."""


class Failure(Struct, gc=False):
    """The cause of a failed attempt. It is kept after the pod is deleted."""

    replica: str = ""
    """Role and index, such as `Worker 1`."""
    pod: str = ""
    uid: str = ""
    node: str = ""
    container: str = ""
    exit_code: int | None = None
    signal: int | None = None
    """Of an exit code above 128: the signal that ended the process; 0: none did. None: not known."""
    reason: str = ""
    message: str = ""
    """The termination message, or the last log lines; at most 2 KiB."""
    cause: str = ""
    """One line about the cause, as far as the message shows it: the exception, or the known fault."""
    evidence: tuple[str, ...] = ()
    """The lines of the message that show the cause."""
    victims: tuple[str, ...] = ()
    """Replicas that failed because of this one, such as `Worker 2`; the first 16 that were seen."""
    advice: str = ""
    """What to do about it, if that is known."""
    disruption: bool = False
    """The pod was disrupted; its containers did not fail."""
    time: Time | None = None


class Restarts(Struct):
    """Restart accounting. Every lost pod is recorded once, by UID, before it is deleted."""

    charged: int = 0
    """Restarts that count against backoffLimit, without container restarts in existing pods."""
    disruptions: int = 0
    """Losses by eviction, preemption, node loss or manual deletion. They are never charged."""
    entered: list[str] = []
    """UIDs of lost pods, and of pods that the operator deleted, which may still exist."""
    open: bool = False
    """A pod was lost and not all replicas have run since: further losses are secondary."""
    streak: int = 0
    """Consecutive lost attempts. The back-off delay grows with this number."""
    last_loss: Time | None = None
    youngest: Time | None = None
    """Creation time of the youngest pod of the lost attempt. Pods that are created later belong to the next attempt."""
    retry_at: Time | None = None
    """No pod is re-created before this time."""


class Why(Struct, gc=False):
    """Why the job does not run."""

    reason: str = ""
    message: str = ""
    since: Time | None = None


class Leaving(Struct, gc=False):
    """A worker that leaves an elastic job."""

    index: int
    reason: str = ""
    claimant: str = msgspec.field(name="for", default="")
    """Who gets its place, such as `TFJob research/mnist`. Empty: nobody in particular."""
    since: Time | None = None
    by: Time | None = None
    """When its pod is killed at the latest. None: it is not deleted yet."""


class ElasticResize(Struct, gc=False):
    """A change of the number of workers."""

    at: Time | None = None
    before: int = msgspec.field(name="from", default=0)
    after: int = msgspec.field(name="to", default=0)
    reason: str = ""
    message: str = ""


class Elastic(Struct):
    """The workers of a job whose number the operator may choose."""

    scaling: str = ""
    """The mode: manual, yield or idle. Manual if the request of the job cannot be fulfilled; `why` says the reason."""
    min: int = 0
    wanted: int = 0
    max: int = 0
    members: str = ""
    """The indexes of the workers, such as `0-3,5`."""
    surplus: int = 0
    """The number of workers above `wanted`."""
    workers: str = ""
    """The number of workers and its bounds, such as `6 (1-16)`."""
    leaving: list[Leaving] = []
    why: Why | None = None
    """Why the job does not have more workers."""
    last_resize: ElasticResize | None = None


Seconds = Annotated[int, msgspec.Meta(extra_json_schema={"format": "int64"})]


class WorkerSeconds(Struct):
    """The sum of the seconds that each worker spent in each part, up to `until`, and how many have been in each part since."""

    asked: Seconds = 0
    """Running, up to the requested number of workers."""
    surplus: Seconds = 0
    """Running on idle capacity."""
    starting: Seconds = 0
    """On a node and not ready."""
    leaving: Seconds = 0
    waiting: Seconds = 0
    """Without a node."""
    redone: Seconds = 0
    """Of the running time: the work since the last checkpoint that was done again, estimated from the job's annotation."""
    workers: dict[str, int] = {}
    """The number of workers by part since `until`."""
    resizes: dict[str, int] = {}
    """The number of changes of the number of workers, by reason."""
    until: Time | None = None

    def at(self, now: Time) -> dict[str, float]:
        """The sums at a later time."""
        passed = max((now - self.until).total_seconds(), 0.0) if self.until is not None else 0.0
        names = ("asked", "surplus", "starting", "leaving", "waiting", "redone")
        return {name: getattr(self, name) + self.workers.get(name, 0) * passed for name in names}


class JobStatus(Struct):
    conditions: list[Condition] = []
    replica_statuses: dict[str, ReplicaStatus] = {}
    selector: str = ""
    """Label selector of the workers, for the scale subresource of kinds whose Go operators write none in replicaStatuses."""
    start_time: Time | None = None
    completion_time: Time | None = None
    last_reconcile_time: Time | None = None
    contract: str = ""
    """The API version whose behaviour the job follows, recorded when it is first seen."""
    ended_by: str = ""
    """What ended the job: Success, Replica, BackoffLimit, Deadline or Validation."""
    failure: Failure | None = None
    """The first failure of the job."""
    last_failure: Failure | None = None
    """The failure or disruption that ended the latest attempt, if it is not the first failure."""
    restarts: Restarts = Restarts()
    host_ports: dict[str, list[int]] = {}
    """Host ports of the job by role: one per replica, or one for the whole role."""
    name_conflicts: list[str] = []
    """Objects that the job needs, such as `Secret/j-ssh`, whose names others have taken, if the operator must not read them."""
    why: Why | None = None
    elastic: Elastic | None = None
    """Of jobs with the annotation `traincrew.kubeflow.org/scaling`."""
    worker_seconds: WorkerSeconds | None = None
    """Of such jobs, also while they are suspended and after their end."""

    @property
    def ending_failure(self) -> Failure | None:
        """The failure that ended a failed job: the latest. Of two in the same second a disruption is the earlier one."""
        known = [failure for failure in (self.failure, self.last_failure) if failure is not None]
        order = {id(failure): number for number, failure in enumerate(known)}
        key = lambda failure: (failure.time.isoformat() if failure.time else "", not failure.disruption, order[id(failure)])  # noqa: E731
        return max(known, key=key, default=None)

    def is_true(self, type: str) -> bool:
        return any(c.type == type and c.status == "True" for c in self.conditions)

    @property
    def finished(self) -> bool:
        return self.is_true("Succeeded") or self.is_true("Failed")
