"""Steps that terminate containers: preStop, SIGTERM, SIGKILL; sidecars last and in reverse order."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import attempts, due_probes
from traincrew.embedded.kubelet.lifecycle.observed import (
    HOOK_RUNNING,
    CreatingSandbox,
    ObservedContainer,
    Running,
    SandboxReady,
    Stopping,
)
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec, ContainerType
from traincrew.embedded.kubelet.lifecycle.steps import (
    KillContainer,
    ReadLogTail,
    RemovePod,
    RunHook,
    StopSandbox,
    TerminateContainer,
)
from traincrew.embedded.kubelet.lifecycle.sync_context import PendingSteps, SyncContext
from traincrew.embedded.kubelet.lifecycle.termination import WHOLE_POD

MINIMUM_GRACE_PERIOD = 2.0
"""Seconds that always pass between SIGTERM and SIGKILL."""
_KILL_INTERVAL = 10.0
"""Seconds before SIGKILL is sent again."""


class StopReason(NamedTuple):
    reason: str
    grace_period: float


def terminate_pod(context: SyncContext, pending: PendingSteps) -> None:
    stop_reason = StopReason(context.termination.cause, context.termination.grace_period)
    pending.sync_at(context.termination.active_deadline)
    for container in context.pod.all_containers:
        current = context.current(container)
        if isinstance(current.state, Running):
            terminate_container(context, pending, container, stop_reason)
            due_probes.add_due_probes(context, pending, container, readiness_only=True)
        elif attempts.awaits_log_tail(container, current.state):
            pending.add(ReadLogTail(container.name, current.state.attempt if current.state else 0))
    if has_terminated(context):
        _clean_up(context, pending)


def has_terminated(context: SyncContext) -> bool:
    """Whether no container runs and every exit can be reported."""
    pairs = ((container, context.current(container)) for container in context.pod.all_containers)
    return not any(
        attempts.is_active(current) or attempts.awaits_log_tail(container, current.state) for container, current in pairs
    )


def _clean_up(context: SyncContext, pending: PendingSteps) -> None:
    pod, observed = context.pod, context.observed
    if isinstance(observed.sandbox, SandboxReady):
        if observed.stopping_sandbox_since is None:
            pending.add(StopSandbox())
        return
    being_created = isinstance(observed.sandbox, CreatingSandbox)
    held = bool(pod.metadata.get("finalizers")) and pod.metadata.get("deletionGracePeriodSeconds") == 0
    if not being_created and (observed.object_deleted or (pod.deletion_timestamp is not None and not held)):
        pending.add(RemovePod())


def terminate_container(context: SyncContext, pending: PendingSteps, container: ContainerSpec, stop_reason: StopReason) -> None:
    """The next step in the termination of a running container."""
    current = context.current(container)
    attempt = current.state.attempt if current.state else 0
    deadline = _deadline(context, current, stop_reason)
    if current.stopping is not None and current.stopping.term_sent_at is not None:
        pending.add_at(_kill_time(current.stopping, deadline), KillContainer(container.name, attempt))
        pending.sync_at(times.later(context.now, _KILL_INTERVAL))
        return
    hook = container.hook("preStop")
    remaining = (deadline - context.now).total_seconds()
    if hook is not None and current.pre_stop is None and remaining > 0:
        pending.add(RunHook(container.name, attempt, "preStop", hook, remaining, stop_reason.reason, remaining))
        pending.sync_at(deadline)
    elif remaining > 0 and (current.pre_stop == HOOK_RUNNING or _waits_for_others(context, container, stop_reason)):
        pending.sync_at(deadline)
    else:
        grace_period = max(remaining, MINIMUM_GRACE_PERIOD)
        pending.add(TerminateContainer(container.name, attempt, grace_period, stop_reason.reason))
        # SIGKILL does not wait for the end of this step: the shim may be stuck.
        pending.sync_at(times.later(context.now, grace_period))


def _kill_time(stopping: Stopping, deadline: dt.datetime) -> dt.datetime:
    if stopping.kill_sent_at is not None:
        return times.later(stopping.kill_sent_at, _KILL_INTERVAL)
    return max(deadline, times.later(stopping.term_sent_at or stopping.since, MINIMUM_GRACE_PERIOD))


def _deadline(context: SyncContext, current: ObservedContainer, stop_reason: StopReason) -> dt.datetime:
    """The end of the grace period. A repeated request can only shorten it."""
    deletion_requested = _deletion_requested_at(context)
    if current.stopping is None:
        termination_started = _termination_started_at(context) if stop_reason.reason in WHOLE_POD else None
        if termination_started is None and context.observed.adopted:
            # A daemon that died has begun the termination, and its record of it is lost.
            termination_started = deletion_requested
        return times.later(min(termination_started or context.now, context.now), stop_reason.grace_period)
    current_deadline = times.later(current.stopping.since, current.stopping.grace_period)
    if stop_reason.grace_period >= current.stopping.grace_period:
        return current_deadline
    return min(
        current_deadline,
        times.later(max(current.stopping.since, deletion_requested or current.stopping.since), stop_reason.grace_period),
    )


def _deletion_requested_at(context: SyncContext) -> dt.datetime | None:

    deletion = context.pod.deletion_timestamp
    return times.later(deletion, -context.pod.grace_period) if deletion is not None else None


def _termination_started_at(context: SyncContext) -> dt.datetime | None:
    """When the termination of the pod started. Sidecars, which wait, get no longer grace period than the other containers."""
    stops = (context.current(container).stopping for container in context.pod.all_containers)
    return times.earliest(*(stop.since for stop in stops if stop is not None and stop.reason in WHOLE_POD))


def _waits_for_others(context: SyncContext, container: ContainerSpec, stop_reason: StopReason) -> bool:
    if container.type is not ContainerType.SIDECAR or stop_reason.reason not in WHOLE_POD:
        return False
    sidecars = context.pod.sidecars
    later = sidecars[sidecars.index(container) + 1 :]
    return any(attempts.is_active(context.current(other)) for other in (*context.pod.containers, *later))
