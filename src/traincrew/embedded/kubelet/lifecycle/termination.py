"""Decides whether a pod terminates, why, and whether it then counts as failed."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import attempts, backoff
from traincrew.embedded.kubelet.lifecycle.observed import REBOOTED, STOPPED, Exited, ObservedPod, SandboxGone
from traincrew.embedded.kubelet.lifecycle.pod import ContainerType, Pod

DELETION, DEADLINE, EVICTION, FINISHED, REJECTION, LOSS = "deletion", "deadline", "eviction", "finished", "rejection", "loss"
WHOLE_POD = (DELETION, DEADLINE, EVICTION, FINISHED)
"""Causes that stop every container of the pod."""

DEADLINE_REASON = "DeadlineExceeded"
DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"
REBOOT_REASON = "NodeLost"
REBOOT_MESSAGE = "The node was rebooted while the pod ran on it"
LOSS_REASON = "SandboxLost"
LOSS_MESSAGE = "The sandbox of the pod was lost: its shim process is gone"
BY_NODE = "TerminationByKubelet"


@dataclasses.dataclass(frozen=True, slots=True)
class PodFailure:
    """Makes the pod Failed, whatever the exit codes of its containers."""

    cause: str
    reason: str
    message: str
    disruption_reason: str = ""
    """The reason of the DisruptionTarget condition. Empty: no such condition."""


@dataclasses.dataclass(frozen=True, slots=True)
class Termination:
    cause: str = ""
    """Why the pod terminates. Empty: the pod keeps running."""
    failure: PodFailure | None = None
    grace_period: float = 0.0
    active_deadline: dt.datetime | None = None
    """When activeDeadlineSeconds is exceeded, if that still has an effect."""


def decide(pod: Pod, observed: ObservedPod, now: dt.datetime) -> Termination:
    deadline = _deadline(pod, observed, now)
    finished = _is_finished(pod, observed)
    failure = _failure(pod, observed, deadline, now)
    if pod.is_terminal or (failure is not None and finished and _finished_before_failure(pod, observed, failure, deadline)):
        failure = None
    cause = _cause(pod, observed, failure, finished)
    grace = pod.grace_period
    if cause == EVICTION and observed.eviction is not None and observed.eviction.grace is not None:
        grace = min(grace, observed.eviction.grace)
    still_applies = failure is None and not pod.is_terminal and cause != FINISHED
    return Termination(cause, failure, max(grace, 1.0), deadline if still_applies else None)


def _cause(pod: Pod, observed: ObservedPod, failure: PodFailure | None, finished: bool) -> str:
    if observed.object_deleted or pod.deletion_timestamp is not None:
        return DELETION
    if failure is not None:
        return failure.cause
    return FINISHED if finished or pod.is_terminal else ""


def _failure(pod: Pod, observed: ObservedPod, deadline: dt.datetime | None, now: dt.datetime) -> PodFailure | None:
    if observed.rejection is not None:
        return PodFailure(REJECTION, observed.rejection.reason, f"Pod was rejected: {observed.rejection.message}")
    if isinstance(observed.sandbox, SandboxGone) and observed.sandbox.reason == REBOOTED and _any_container_ran(pod, observed):
        return PodFailure(LOSS, REBOOT_REASON, REBOOT_MESSAGE, BY_NODE)
    lost = attempts.sandbox_lost(observed) and attempts.lost_with_sandbox(pod, observed)
    if lost and not _lost_by_eviction(observed):
        return PodFailure(LOSS, LOSS_REASON, LOSS_MESSAGE, BY_NODE)
    if observed.eviction is not None:
        return PodFailure(EVICTION, observed.eviction.reason, observed.eviction.message, observed.eviction.target)
    if deadline is not None and now >= deadline:
        return PodFailure(DEADLINE, DEADLINE_REASON, DEADLINE_MESSAGE)
    return None


def _lost_by_eviction(observed: ObservedPod) -> bool:
    """Whether the sandbox was lost in the course of an eviction: a shim that does not answer is killed with its containers."""
    states = (each.state for each in observed.containers.values())
    return observed.eviction is not None and any(isinstance(each, Exited) and each.stop_reason == EVICTION for each in states)


def _deadline(pod: Pod, observed: ObservedPod, now: dt.datetime) -> dt.datetime | None:
    seconds = pod.spec.get("activeDeadlineSeconds")
    return times.later(attempts.start_time(pod, observed, now), int(seconds)) if seconds is not None else None


def _any_container_ran(pod: Pod, observed: ObservedPod) -> bool:
    return any(backoff.consumes_attempt(observed.container(container.name).state) for container in pod.all_containers)


def _is_finished(pod: Pod, observed: ObservedPod) -> bool:
    """Whether the restart policy asks for no further attempt of any container.

    The node stops a sandbox only after it has decided so: a stopped sandbox means finished, even if the status was not written.
    """
    if isinstance(observed.sandbox, SandboxGone) and observed.sandbox.reason == STOPPED:
        return True
    if pod.restart_policy == "Never" and _initialization_failed(pod, observed):
        return True
    states = [observed.container(container.name).state for container in pod.containers]
    return bool(states) and all(
        backoff.consumes_attempt(state) and not attempts.should_restart(pod, container, state)
        for container, state in zip(pod.containers, states, strict=True)
    )


def _initialization_failed(pod: Pod, observed: ObservedPod) -> bool:
    states = (observed.container(each.name).state for each in pod.init_containers if each.type is ContainerType.INIT)
    return any(backoff.consumes_attempt(state) and not attempts.init_succeeded(state) for state in states)


def _finished_before_failure(pod: Pod, observed: ObservedPod, failure: PodFailure, deadline: dt.datetime | None) -> bool:
    """Whether the containers of a finished pod had exited by themselves before the failure was noticed."""
    initialized = any(observed.container(each.name).state for each in pod.containers)
    containers = pod.containers if initialized else pod.init_containers
    states = [state for each in containers if isinstance(state := observed.container(each.name).state, Exited)]
    match failure.cause:
        case "deadline":
            finish_times = [attempts.finished_at(state) for state in states]
            return deadline is not None and all(
                finish_time is not None and finish_time < deadline for finish_time in finish_times
            )
        case "eviction":
            return all(state.stop_reason != EVICTION for state in states)
        case "loss":
            return all(state.status is not None for state in states)
        case _:
            return False
