"""The record of a failure that the status keeps after the pod is deleted: replica, node, exit code, cause and last log lines."""

from __future__ import annotations

import dataclasses

import msgspec

from traincrew.diagnosis import cause
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Replica
from traincrew.model import objects
from traincrew.model.status import Failure
from traincrew.planner import deadlines, losses, recorded_ends
from traincrew.planner.losses import Loss

MESSAGE_LIMIT = 2048


def of_loss(kind: JobKind, loss: Loss) -> Failure:
    container = _failed_container(kind, loss)
    ended = container.state.terminated if container else None
    record = Failure(
        replica=_replica_name(loss.replica),
        pod=loss.pod.name,
        uid=loss.uid,
        node=loss.pod.spec.node_name,
        container=container.name if container else "",
        exit_code=ended.exit_code if ended else None,
        signal=ended.ending_signal if ended else None,
        reason=_reason(loss, ended),
        message=tail(_message(loss, ended)),
        disruption=loss.disruption,
        time=deadlines.whole(loss.at),
    )
    return record if loss.disruption else _with_cause(record, loss.replica, loss.pod)


def of_container(replica: Replica, pod: objects.Pod) -> Failure | None:
    """The record of a container that failed and was restarted inside its pod."""
    for status in pod.status.container_statuses + pod.status.init_container_statuses:
        ended = status.last_state.terminated
        if ended is not None and ended.exit_code != 0:
            record = Failure(
                replica=_replica_name(replica),
                pod=pod.name,
                uid=pod.metadata.uid,
                node=pod.spec.node_name,
                container=status.name,
                exit_code=ended.exit_code,
                signal=ended.ending_signal,
                reason=ended.reason,
                message=tail(ended.message),
                time=deadlines.whole(ended.finished_at) if ended.finished_at else None,
            )
            return _with_cause(record, replica, pod)
    return None


def _with_cause(record: Failure, replica: Replica, pod: objects.Pod) -> Failure:
    end = recorded_ends.replica_end(record, recorded_ends.memory_limit(replica.job, replica.role.name, record.container))
    found = cause.examine(dataclasses.replace(end, silent=_is_silent(record, pod)))
    return msgspec.structs.replace(record, cause=cause.describe(found), evidence=found.evidence, advice=found.advice)


def _is_silent(record: Failure, pod: objects.Pod) -> bool:
    """Whether the container has printed nothing: the kubelet copies the end of its log into an empty termination message."""
    policies = {each.name: each.termination_message_policy for each in pod.spec.containers}
    return not record.message.strip() and policies.get(record.container) == "FallbackToLogsOnError"


def last_failed_termination(pod: objects.Pod) -> objects.Terminated | None:
    """The last failure of a container that was, or will be, restarted inside its pod."""
    for status in pod.status.container_statuses:
        if status.last_state.terminated is not None and status.last_state.terminated.exit_code != 0:
            return status.last_state.terminated
    return None


def _replica_name(replica: Replica) -> str:
    return f"{replica.role.name} {replica.index}" if replica.role.indexed else replica.role.name


def _reason(loss: Loss, ended: objects.Terminated | None) -> str:
    target = losses.disruption_target(loss.pod)
    if loss.pod.status.reason:
        return loss.pod.status.reason
    if loss.disruption and loss.pod.node_lost:
        return "NodeLost"
    if loss.disruption:
        return target.reason if target and target.reason else "Deleted"
    return ended.reason if ended else ""


def _message(loss: Loss, ended: objects.Terminated | None) -> str:
    if loss.pod.status.reason == "Evicted" and loss.pod.status.message:
        return loss.pod.status.message  # it has the cause. The kubelet may have removed the logs, and writes so as their end.
    target = losses.disruption_target(loss.pod)
    return (ended.message if ended else "") or loss.pod.status.message or (target.message if target else "")


def _failed_container(kind: JobKind, loss: Loss) -> objects.ContainerStatus | None:
    """The main container if it failed, else the first container that failed."""
    statuses = loss.pod.status.container_statuses + loss.pod.status.init_container_statuses
    failed = [status for status in statuses if status.state.terminated is not None and status.state.terminated.exit_code != 0]
    main = losses.main_container(kind, loss.replica)
    return next((status for status in failed if status.name == main), failed[0] if failed else None)


def tail(text: str) -> str:
    """The end of a message. In a log the cause is usually at the end."""
    data = text.encode()
    return text if len(data) <= MESSAGE_LIMIT else data[-MESSAGE_LIMIT:].decode(errors="ignore")
