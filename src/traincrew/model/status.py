"""A job's status: what clients of the Go operators read, and the fields of our own."""

from __future__ import annotations

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
    """Replicas that have succeeded, such as `0-2,5`: they are not run again, even if their pods are removed."""


class Failure(Struct, gc=False):
    """The first cause of a failed attempt, kept after its pod is gone."""

    replica: str = ""
    """Role and index, such as `Worker 1`."""
    pod: str = ""
    uid: str = ""
    node: str = ""
    container: str = ""
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    """The termination message, or the last log lines; at most 2 KiB."""
    disruption: bool = False
    """True: the pod was taken away; it did not fail by itself."""
    time: Time | None = None


class Restarts(Struct):
    """The book of restarts. Every pod lost is entered once, by UID, before it is deleted."""

    charged: int = 0
    """Restarts that count against backoffLimit (restarts of containers inside living pods come on top)."""
    disruptions: int = 0
    """Pods taken away by evictions, preemptions, node losses or deletions by hand; never charged."""
    entered: list[str] = []
    """UIDs of pods that were lost, or sent away by the operator itself, and may still be seen."""
    open: bool = False
    """An attempt has lost a pod and not all replicas have run since: further losses are victims of the first."""
    streak: int = 0
    """Attempts lost in a row without a long run between them; the delay before the next grows with it."""
    last_loss: Time | None = None
    youngest: Time | None = None
    """When the youngest pod of the lost attempt was made, by the API server's clock; pods made later belong to the next."""
    retry_at: Time | None = None
    """No pod is re-created before this moment."""


class Why(Struct, gc=False):
    """Why the job does not run, in one sentence."""

    reason: str = ""
    message: str = ""
    since: Time | None = None


class JobStatus(Struct):
    conditions: list[Condition] = []
    replica_statuses: dict[str, ReplicaStatus] = {}
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
    """What the latest attempt was lost by, failure or disruption, where that is another one."""
    restarts: Restarts = Restarts()
    host_ports: dict[str, list[int]] = {}
    """Ports that the job has for itself on every node, by role: one for each replica, or one for all of the role."""
    why: Why | None = None

    def is_true(self, type: str) -> bool:
        return any(c.type == type and c.status == "True" for c in self.conditions)

    @property
    def finished(self) -> bool:
        return self.is_true("Succeeded") or self.is_true("Failed")
