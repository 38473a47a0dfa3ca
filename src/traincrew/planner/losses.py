"""Why a pod is lost: by its own doing, or taken away. The cause decides what happens next."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Literal

from traincrew.kinds.kind import JobKind, Replica
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Failure

MESSAGE_LIMIT = 2048

# Reasons of a Failed pod that the node or the cluster gives, not the program in it.
_TAKEN_AWAY = frozenset(
    {"Evicted", "NodeLost", "Shutdown", "NodeShutdown", "Terminated", "Preempting", "Preempted", "NodeAffinity",
     "OutOfcpu", "OutOfmemory", "OutOfpods", "Outofnvidia.com/gpu", "UnexpectedAdmissionError"}
)  # fmt: skip
# An eviction for these is the pod's own doing: it used more than it had asked for.
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
            # A pod that left no exit code was not ended by its program.
            return "restart" if self.exit_code is None or self.exit_code >= 128 else "fail-permanently"
        return "tolerate" if kind.tolerates(self.replica.job, self.replica.role.name) else "fail"


def examine(kind: JobKind, replica: Replica, pod: objects.Pod, now: Time, *, gone: bool = False) -> Loss | None:
    """The loss that a pod stands for; None while it lives, and for pods that have done their work."""
    if pod.status.phase == "Succeeded":
        return None
    if pod.status.phase != "Failed" and not pod.terminating and not gone:
        return None
    ended = _terminated(kind, pod)
    at = (ended.finished_at if ended else None) or pod.metadata.deletion_timestamp or now
    disruption = pod.status.phase != "Failed" or _taken_away(pod, ended)
    return Loss(pod, replica, disruption, ended.exit_code if ended else None, at)


def _taken_away(pod: objects.Pod, ended: objects.Terminated | None) -> bool:
    """Whether a Failed pod was ended from outside."""
    if any(text in pod.status.message for text in _OWN_EVICTIONS):
        return False
    target = pod.status.condition("DisruptionTarget")
    if pod.status.reason in _TAKEN_AWAY or (target is not None and target.status == "True"):
        return True
    return pod.terminating and not _ended_before_deletion(pod, ended)


def _ended_before_deletion(pod: objects.Pod, ended: objects.Terminated | None) -> bool:
    deadline, grace = pod.metadata.deletion_timestamp, pod.metadata.deletion_grace_period_seconds or 0
    if deadline is None or ended is None or ended.finished_at is None:
        return False
    return ended.finished_at < deadline - dt.timedelta(seconds=grace)


def _terminated(kind: JobKind, pod: objects.Pod) -> objects.Terminated | None:
    """How the training container ended; of several containers without that name, how the first did."""
    statuses = pod.status.container_statuses
    named = [status for status in statuses if not kind.container or status.name == kind.container]
    for status in named or statuses:
        if status.state.terminated is not None:
            return status.state.terminated
    return None


def failure(kind: JobKind, loss: Loss) -> Failure:
    """The record of a loss, to be kept after the pod is gone."""
    culprit = _culprit(kind, loss.pod)
    ended = culprit.state.terminated if culprit else None
    text = (ended.message if ended else "") or loss.pod.status.message
    return Failure(
        replica=f"{loss.replica.role.name} {loss.replica.index}" if loss.replica.role.indexed else loss.replica.role.name,
        pod=loss.pod.name,
        uid=loss.uid,
        node=loss.pod.spec.node_name,
        container=culprit.name if culprit else "",
        exit_code=ended.exit_code if ended else None,
        reason=loss.pod.status.reason or (ended.reason if ended else ""),
        message=tail(text),
        disruption=loss.disruption,
        time=loss.at.replace(microsecond=0),
    )


def in_place(kind: JobKind, replica: Replica, pod: objects.Pod) -> Failure | None:
    """The record of a container that failed and was started again inside its pod."""
    for status in pod.status.container_statuses + pod.status.init_container_statuses:
        ended = status.last_state.terminated
        if ended is not None and ended.exit_code != 0:
            return Failure(
                replica=f"{replica.role.name} {replica.index}" if replica.role.indexed else replica.role.name,
                pod=pod.name,
                uid=pod.metadata.uid,
                node=pod.spec.node_name,
                container=status.name,
                exit_code=ended.exit_code,
                reason=ended.reason,
                message=tail(ended.message),
                time=ended.finished_at.replace(microsecond=0) if ended.finished_at else None,
            )
    return None


def _culprit(kind: JobKind, pod: objects.Pod) -> objects.ContainerStatus | None:
    """The container that failed: the training one if it did, else the first that did."""
    failed = [
        status
        for status in pod.status.container_statuses + pod.status.init_container_statuses
        if status.state.terminated is not None and status.state.terminated.exit_code != 0
    ]
    return next((status for status in failed if status.name == kind.container), failed[0] if failed else None)


def tail(text: str) -> str:
    """The end of a message, which in a log is where the cause stands."""
    data = text.encode()
    return text if len(data) <= MESSAGE_LIMIT else data[-MESSAGE_LIMIT:].decode(errors="ignore")
