"""Lost pods: failures of the program, and disruptions from outside."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Literal

from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Replica
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.planner import deadlines

# Reasons of a Failed pod that come from the node or the cluster, not from the program. A kubelet that cannot admit a pod
# sets OutOf and the name of the resource.
_DISRUPTIONS = frozenset(
    {"Evicted", "NodeLost", "Shutdown", "NodeShutdown", "Terminated", "Preempting", "Preempted", "NodeAffinity",
     "TopologyAffinityError", "UnexpectedAdmissionError"}
)  # fmt: skip
_NOT_ADMITTED = "outof"
# Evictions of pods that used more storage than their limit: these are failures of the pod, not disruptions.
_OWN_EVICTIONS = (
    "Usage of EmptyDir volume",
    "exceeded its local ephemeral storage limit",
    "ephemeral local storage usage exceeds",
)

Verdict = Literal["restart", "fail", "fail-permanently", "tolerate"]


@dataclasses.dataclass(frozen=True)
class Loss:
    pod: objects.Pod
    replica: Replica
    disruption: bool
    exit_code: int | None
    at: Time

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid

    def verdict(self, kind: JobKind) -> Verdict:
        policy = self.replica.job.roles[self.replica.role.name].restart_policy
        if self.disruption or policy in ("OnFailure", "Always"):
            return "restart"
        if policy == "ExitCode":
            # A pod without an exit code was not ended by its program.
            return "restart" if self.exit_code is None or self.exit_code >= 128 else "fail-permanently"
        return "tolerate" if kind.lifecycle.tolerates_failure(self.replica.job, self.replica.role.name) else "fail"


def examine(kind: JobKind, replica: Replica, pod: objects.Pod, now: Time, *, gone: bool = False) -> Loss | None:
    """The loss of a pod. None if the pod is alive or has succeeded."""
    if pod.status.phase == "Succeeded":
        return None
    if pod.status.phase != "Failed" and not pod.terminating and not gone:
        return None
    ended = _terminated(kind, replica, pod)
    disruption = pod.status.phase != "Failed" or _is_disrupted(pod, ended)
    # A loss without a time sorts first: a needless restart is better than a job that fails for a secondary failure.
    at = _time_of(pod, ended) or pod.metadata.creation_timestamp or now
    return Loss(pod, replica, disruption, ended.exit_code if ended else None, at)


def _time_of(pod: objects.Pod, ended: objects.Terminated | None) -> Time | None:
    target = disruption_target(pod)
    return deadlines.earliest(
        (
            ended.finished_at if ended else None,
            deletion_requested_at(pod),
            target.last_transition_time if target else None,
        )
    )


def deletion_requested_at(pod: objects.Pod) -> Time | None:
    """The time of the delete request: deletionTimestamp is the end of the grace period."""
    deadline, grace = pod.metadata.deletion_timestamp, pod.metadata.deletion_grace_period_seconds or 0
    return deadline - dt.timedelta(seconds=grace) if deadline is not None else None


def disruption_target(pod: objects.Pod) -> objects.PodCondition | None:
    target = pod.status.condition("DisruptionTarget")
    return target if target is not None and target.status == "True" else None


def _is_disrupted(pod: objects.Pod, ended: objects.Terminated | None) -> bool:
    """Whether a Failed pod was ended from outside."""
    if any(text in pod.status.message for text in _OWN_EVICTIONS):
        return False
    reason = pod.status.reason
    if reason in _DISRUPTIONS or reason.lower().startswith(_NOT_ADMITTED) or disruption_target(pod) is not None:
        return True
    return pod.terminating and not _ended_before_deletion(pod, ended)


def _ended_before_deletion(pod: objects.Pod, ended: objects.Terminated | None) -> bool:
    requested = deletion_requested_at(pod)
    return requested is not None and ended is not None and ended.finished_at is not None and ended.finished_at < requested


def main_container(kind: JobKind, replica: Replica) -> str:
    """The name of the main container: that of the kind, else the first of the template."""
    return kind.pods.container or next((str(c.get("name")) for c in replica.job.roles[replica.role.name].containers), "")


def _terminated(kind: JobKind, replica: Replica, pod: objects.Pod) -> objects.Terminated | None:
    """How the main container ended; if there is no container of that name, how the first did."""
    statuses = pod.status.container_statuses
    main = main_container(kind, replica)
    for status in [status for status in statuses if status.name == main] or statuses:
        if status.state.terminated is not None:
            return status.state.terminated
    return None
