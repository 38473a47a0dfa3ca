"""Failures that belong to the loss of another replica: seen before the loss, or long after it.

A node that dies silently is noticed late: Kubernetes waits 40 to 50 seconds for its heartbeat. The replicas on other nodes lose
their connections earlier and fail. So a failure that looks like a consequence waits for the loss that may have caused it. One
that does not say why waits too, if the job has run for at least the time that it waits: the failures of a job that does not work
at all are reported at once, and no failure is reported more than twice as late. A failure with a cause of its own never waits.
"""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.diagnosis import cause
from traincrew.diagnosis.recognizer import Significance
from traincrew.kinds.kind import JobKind
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import JobStatus, Restarts
from traincrew.planner import deadlines, failure_records, recorded_ends
from traincrew.planner.losses import Loss, disruption_target
from traincrew.planner.replicas import Replicas

LATE = dt.timedelta(minutes=15)
"""Time within which a replica notices that a peer is lost: Linux gives up an unanswered connection after 15 minutes."""
NODE_LOSS_REASONS = ("DeletionByTaintManager", "DeletionByPodGC")
"""Reasons of the condition DisruptionTarget of pods whose node is gone or does not respond."""
NODE_MAY_BE_LOST = "NodeMayBeLost"
"""Reason of `status.why` while a failure waits. Its `since` limits the wait, also after a restart of the operator."""


@dataclasses.dataclass(frozen=True)
class HeldFailure:
    """A failure that is not decided yet."""

    loss: Loss
    until: Time

    silent: bool = False
    """The failure does not say why."""

    @property
    def message(self) -> str:
        what = (
            f"pod {self.loss.pod.name} failed and does not say why, and the node of another replica may have died"
            if self.silent
            else f"pod {self.loss.pod.name} failed because it lost another replica, whose node may have died"
        )
        return f"{what}: if no replica is found lost by {self.until:%H:%M:%S} UTC, the job fails"


def grace(replicas: Replicas) -> dt.timedelta:
    return dt.timedelta(seconds=replicas.observed.planning.node_loss_grace)


def significance(kind: JobKind, loss: Loss) -> Significance:
    record = failure_records.of_loss(kind, loss)
    return cause.examine(recorded_ends.replica_end(record)).significance


def is_late(replicas: Replicas, restarts: Restarts, loss: Loss) -> bool:
    """Whether a pod of the lost attempt noticed that loss only after all replicas ran again.

    A failure that does not say why belongs only to a disruption, and only if it follows soon.
    """
    created = loss.pod.metadata.creation_timestamp
    if loss.disruption or restarts.last_loss is None or restarts.youngest is None:
        return False
    if created is None or created > restarts.youngest:
        return False
    found = significance(replicas.kind, loss)
    if found == "consequence":
        return loss.at <= restarts.last_loss + max(LATE, grace(replicas))
    latest = replicas.job.status.last_failure or replicas.job.status.failure
    disrupted = latest is not None and latest.disruption
    return found == "report" and disrupted and loss.at <= restarts.last_loss + grace(replicas)


def causing_loss(replicas: Replicas, failure: Loss, new: list[Loss]) -> Loss | None:
    """The loss of another replica that caused the failure, although it is noticed later."""
    if _has_own_cause(replicas.kind, failure, new):
        return None
    is_consequence = significance(replicas.kind, failure) == "consequence"
    # A failure that does not say why is not excused by a later disruption, unless that is the end of a node.
    excused = is_consequence or _ran_long_enough(replicas, failure)
    later = [
        loss
        for loss in new
        if loss.disruption and excused and (is_consequence or _is_node_loss(loss)) and loss.at <= failure.at + grace(replicas)
    ]
    return next(iter(later or _on_lost_nodes(replicas, failure)), None)


def hold(replicas: Replicas, status: JobStatus, failure: Loss, new: list[Loss], now: Time) -> HeldFailure | None:
    """The failure, if the loss that caused it may still be noticed."""
    found = significance(replicas.kind, failure)
    silent = found == "report" and _ran_long_enough(replicas, failure)
    if not (found == "consequence" or silent) or _has_own_cause(replicas.kind, failure, new):
        return None
    if not _silent_peers(replicas, new):
        return None
    why = status.why
    since = why.since if why is not None and why.reason == NODE_MAY_BE_LOST and why.since is not None else deadlines.whole(now)
    # The end of a container is a time of its node, whose clock may differ.
    until = min(since, failure.at) + grace(replicas)
    return HeldFailure(failure, until, silent) if now < until else None


def _ran_long_enough(replicas: Replicas, failure: Loss) -> bool:
    """Whether all replicas had run together for at least the grace when one failed."""
    since = [slot.pod.status.start_time for slot in replicas.slots if slot.pod is not None]
    started = [time for time in since if time is not None]
    return len(started) == len(replicas.slots) and max(started) + grace(replicas) <= failure.at


def _is_node_loss(loss: Loss) -> bool:
    target = disruption_target(loss.pod)
    return loss.pod.node_lost or (target is not None and target.reason in NODE_LOSS_REASONS)


def _has_own_cause(kind: JobKind, failure: Loss, new: list[Loss]) -> bool:
    """Whether this failure, or another one that is seen with it, is a fault of the program."""
    return any(significance(kind, loss) == "cause" for loss in (failure, *new) if not loss.disruption)


def _on_lost_nodes(replicas: Replicas, failure: Loss) -> list[Loss]:
    lost = [slot for slot in replicas.slots if slot.pod is not None and slot.alive and slot.pod.node_lost]
    return [Loss(slot.pod, slot.replica, True, None, failure.at) for slot in lost if slot.pod is not None and not slot.done]


def _silent_peers(replicas: Replicas, new: list[Loss]) -> list[objects.Pod]:
    """Running pods on nodes that have not reported a failure: one that has was alive after the loss."""
    reported = {loss.pod.spec.node_name for loss in new if not loss.disruption}
    pods = [slot.pod for slot in replicas.slots if slot.pod is not None and slot.pod.active]
    return [pod for pod in (*pods, *replicas.delegated_pods) if pod.active and pod.spec.node_name not in {"", *reported}]
