"""Predicates over one attempt of a container, for the restart policy, the start order and the status."""

from __future__ import annotations

import datetime as dt

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import backoff, probes
from traincrew.embedded.kubelet.lifecycle.observed import (
    HOOK_DONE,
    HOOK_RUNNING,
    LOST,
    REBOOTED,
    Exited,
    ObservedContainer,
    ObservedPod,
    Running,
    RuntimeState,
    SandboxGone,
    SandboxReady,
    StartFailure,
    Starting,
)
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec, ContainerType, Pod


def lost_with_sandbox(pod: Pod, observed: ObservedPod) -> bool:
    """Whether the loss of the sandbox is final for the pod.

    A container that ran and left no exit record is lost. So is a completed initialization: the API server lets it start again
    only with restartPolicy Always.
    """
    states = [(container.type, observed.container(container.name).state) for container in pod.all_containers]
    if any(isinstance(state, Exited) and state.status is None for _, state in states):
        return True
    return pod.restart_policy != "Always" and any(kind is ContainerType.INIT and init_succeeded(state) for kind, state in states)


def sandbox_lost(observed: ObservedPod) -> bool:
    return isinstance(observed.sandbox, SandboxGone) and observed.sandbox.reason in (LOST, REBOOTED)


def is_active(current: ObservedContainer) -> bool:
    return isinstance(current.state, Starting | Running)


def awaits_log_tail(container: ContainerSpec, state: RuntimeState | None) -> bool:
    """Whether the log tail has to be read before the exit can be reported."""
    if not isinstance(state, Exited) or state.status is None or not container.falls_back_to_logs:
        return False
    return state.status.code != 0 and not state.status.message and state.log_tail is None


def succeeded(state: RuntimeState | None) -> bool:
    return isinstance(state, Exited) and state.status is not None and state.status.code == 0


def init_succeeded(state: RuntimeState | None) -> bool:
    """An init container with processes killed for memory has failed, even with exit code 0."""
    return succeeded(state) and not (isinstance(state, Exited) and state.status is not None and state.status.oom_killed)


def should_restart(pod: Pod, container: ContainerSpec, state: RuntimeState | None) -> bool:
    """Whether the restart policy asks for another attempt."""
    if not backoff.consumes_attempt(state):
        return True
    if container.type is ContainerType.SIDECAR:
        return True
    if container.type is ContainerType.EPHEMERAL or pod.restart_policy == "Never":
        return False
    if container.type is ContainerType.INIT:
        return not init_succeeded(state)
    return pod.restart_policy == "Always" or not succeeded(state)


def in_current_sandbox(observed: ObservedPod, state: RuntimeState | None) -> bool:
    """Whether the attempt belongs to the sandbox that exists now."""
    if not isinstance(observed.sandbox, SandboxReady):
        return state is not None
    finished = finished_at(state)
    return state is not None and (finished is None or finished >= observed.sandbox.since)


def finished_at(state: RuntimeState | None) -> dt.datetime | None:
    match state:
        case Exited(status=status) if status is not None:
            return status.finished
        case StartFailure(at=at):
            return at
        case _:
            return None


def next_attempt(current: ObservedContainer) -> int:
    if current.state is not None:
        return current.state.attempt + 1 if backoff.consumes_attempt(current.state) else current.state.attempt
    return current.history[0].attempt + 1 if current.history else 0


def post_start_pending(container: ContainerSpec, current: ObservedContainer) -> bool:
    """Whether the container runs and its postStart hook has not finished."""
    return (
        isinstance(current.state, Running)
        and container.hook("postStart") is not None
        and current.post_start in (None, HOOK_RUNNING)
    )


def hook_failed(outcome: str | None) -> bool:
    return outcome not in (None, HOOK_RUNNING, HOOK_DONE)


def reported(pod: Pod, container: ContainerSpec, current: ObservedContainer, field: str) -> bool:
    """The field `started` or `ready` of the reported status, if that status is of the current attempt."""
    api = pod.reported_statuses.get(container.name)
    if api is None or current.state is None or api.get("containerID") != pod.container_id(container.name, current.state.attempt):
        return False
    return bool(api.get(field))


def has_started(pod: Pod, container: ContainerSpec, current: ObservedContainer) -> bool:
    """Whether the container runs, its postStart hook has finished and its startup probe has passed."""
    if post_start_pending(container, current):
        return False
    return probes.has_started(container, current, reported(pod, container, current, "started"))


def start_time(pod: Pod, observed: ObservedPod, now: dt.datetime) -> dt.datetime:
    return times.parse_optional(pod.status.get("startTime")) or observed.first_seen or now
