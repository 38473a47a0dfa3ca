"""What is kept of a failure after its pod is gone: who, where, how, and the last words."""

from __future__ import annotations

from traincrew.kinds.kind import JobKind, Replica
from traincrew.model import objects
from traincrew.model.status import Failure
from traincrew.planner import clock, losses
from traincrew.planner.losses import Loss

MESSAGE_LIMIT = 2048


def of_loss(kind: JobKind, loss: Loss) -> Failure:
    culprit = _culprit(kind, loss)
    ended = culprit.state.terminated if culprit else None
    return Failure(
        replica=_place(loss.replica),
        pod=loss.pod.name,
        uid=loss.uid,
        node=loss.pod.spec.node_name,
        container=culprit.name if culprit else "",
        exit_code=ended.exit_code if ended else None,
        reason=_reason(loss, ended),
        message=tail(_message(loss, ended)),
        disruption=loss.disruption,
        time=clock.whole(loss.at),
    )


def of_container(replica: Replica, pod: objects.Pod) -> Failure | None:
    """The record of a container that failed and was started again inside its pod."""
    for status in pod.status.container_statuses + pod.status.init_container_statuses:
        ended = status.last_state.terminated
        if ended is not None and ended.exit_code != 0:
            return Failure(
                replica=_place(replica),
                pod=pod.name,
                uid=pod.metadata.uid,
                node=pod.spec.node_name,
                container=status.name,
                exit_code=ended.exit_code,
                reason=ended.reason,
                message=tail(ended.message),
                time=clock.whole(ended.finished_at) if ended.finished_at else None,
            )
    return None


def last_failed_termination(pod: objects.Pod) -> objects.Terminated | None:
    """How the container ended that failed inside its pod and was, or will be, started again."""
    for status in pod.status.container_statuses:
        if status.last_state.terminated is not None and status.last_state.terminated.exit_code != 0:
            return status.last_state.terminated
    return None


def _place(replica: Replica) -> str:
    return f"{replica.role.name} {replica.index}" if replica.role.indexed else replica.role.name


def _reason(loss: Loss, ended: objects.Terminated | None) -> str:
    target = losses.disruption_target(loss.pod)
    if loss.pod.status.reason:
        return loss.pod.status.reason
    if loss.disruption:
        return target.reason if target and target.reason else "Deleted"
    return ended.reason if ended else ""


def _message(loss: Loss, ended: objects.Terminated | None) -> str:
    target = losses.disruption_target(loss.pod)
    return (ended.message if ended else "") or loss.pod.status.message or (target.message if target else "")


def _culprit(kind: JobKind, loss: Loss) -> objects.ContainerStatus | None:
    """The container that failed: the training one if it did, else the first that did."""
    statuses = loss.pod.status.container_statuses + loss.pod.status.init_container_statuses
    failed = [status for status in statuses if status.state.terminated is not None and status.state.terminated.exit_code != 0]
    main = losses.main_container(kind, loss.replica)
    return next((status for status in failed if status.name == main), failed[0] if failed else None)


def tail(text: str) -> str:
    """The end of a message, which in a log is where the cause stands."""
    data = text.encode()
    return text if len(data) <= MESSAGE_LIMIT else data[-MESSAGE_LIMIT:].decode(errors="ignore")
