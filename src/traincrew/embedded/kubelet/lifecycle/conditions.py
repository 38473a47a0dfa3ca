"""The conditions of a pod. Those of the kubelet are computed; all others are kept."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import phase as lifecycle_phase
from traincrew.embedded.kubelet.lifecycle.pod import ContainerType, Pod

Condition = dict[str, Any]

DISRUPTION_TARGET = "DisruptionTarget"
_KUBELET_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
_TERMINAL_REASONS = {lifecycle_phase.SUCCEEDED: "PodCompleted", lifecycle_phase.FAILED: "PodFailed"}


def of_pod(pod: Pod, statuses: lifecycle_phase.Statuses, phase: str, sandbox_ready: bool) -> list[Condition]:
    """Without transition times. sandbox_ready: the pod has a sandbox and a network."""
    kept = [
        dict(condition) for condition in pod.status.get("conditions") or () if condition.get("type") not in _KUBELET_CONDITIONS
    ]
    containers = containers_ready(pod, statuses, phase)
    return [
        *kept,
        _condition("PodReadyToStartContainers", sandbox_ready),
        initialized(pod, statuses, phase),
        ready(pod, containers, kept),
        containers,
        _condition("PodScheduled", True),
    ]


def set_disruption_target(conditions: list[Condition], reason: str, message: str) -> None:
    conditions[:] = [condition for condition in conditions if condition["type"] != DISRUPTION_TARGET]
    index = next((i for i, condition in enumerate(conditions) if condition["type"] in _KUBELET_CONDITIONS), len(conditions))
    conditions.insert(index, _condition(DISRUPTION_TARGET, True, reason, message))


def with_transition_times(
    pod: Pod, last_status: Mapping[str, Any], conditions: Iterable[Condition], now: dt.datetime
) -> list[Condition]:
    """A condition whose status is unchanged keeps its transition time.

    last_status: the kubelet's own conditions have the times that were computed last. The times that the API server has may be
    those before a write in progress; computed from them, each write would cause the next one, back to the other times.
    """
    previous = {condition.get("type"): condition for condition in pod.status.get("conditions") or ()}
    computed = {condition["type"]: condition for condition in last_status.get("conditions") or ()}
    previous |= {kind: computed[kind] for kind in (*_KUBELET_CONDITIONS, DISRUPTION_TARGET) if kind in computed}
    timed = []
    for condition in conditions:
        old = previous.get(condition["type"]) or {}
        since = old.get("lastTransitionTime") if old.get("status") == condition["status"] else None
        timed.append(
            {**condition, "lastProbeTime": condition.get("lastProbeTime"), "lastTransitionTime": since or times.rfc3339(now)}
        )
    return timed


def containers_ready(pod: Pod, statuses: lifecycle_phase.Statuses | None, phase: str) -> Condition:
    """statuses: None if no container status is known."""
    if statuses is None:
        return _condition("ContainersReady", False, "UnknownContainerStatuses")
    names = [container.name for container in (*pod.sidecars, *pod.containers)]
    unknown = [name for name in names if name not in statuses]
    unready = [name for name in names if name in statuses and not statuses[name]["ready"]]
    if phase == lifecycle_phase.FAILED or (phase == lifecycle_phase.SUCCEEDED and not unknown):
        return _condition("ContainersReady", False, _TERMINAL_REASONS[phase])
    message = _listed({"unknown": unknown, "unready": unready})
    return _condition("ContainersReady", not message, "ContainersNotReady" if message else "", message)


def ready(pod: Pod, containers: Condition, others: Iterable[Condition]) -> Condition:
    if containers["status"] != "True":
        return {**containers, "type": "Ready"}
    statuses = {condition["type"]: condition.get("status") for condition in others}
    problems = []
    for gate in pod.spec.get("readinessGates") or ():
        kind = gate["conditionType"]
        if kind not in statuses:
            problems.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif statuses[kind] != "True":
            problems.append(f'the status of pod readiness gate "{kind}" is not "True", but {statuses[kind]}')
    return _condition("Ready", not problems, "ReadinessGatesNotReady" if problems else "", ", ".join(problems))


def initialized(pod: Pod, statuses: lifecycle_phase.Statuses | None, phase: str) -> Condition:
    if statuses is None and pod.init_containers:
        return _condition("Initialized", False, "UnknownContainerStatuses")
    statuses = statuses or {}
    unknown = [container.name for container in pod.init_containers if container.name not in statuses]
    if phase == lifecycle_phase.SUCCEEDED and not unknown:
        return _condition("Initialized", True, "PodCompleted")
    if lifecycle_phase.any_container_started(pod, statuses):
        return _condition("Initialized", True)
    known = [container for container in pod.init_containers if container.name in statuses]
    fields = {ContainerType.SIDECAR: "started", ContainerType.INIT: "ready"}
    incomplete = [container.name for container in known if not statuses[container.name].get(fields[container.type])]
    message = _listed({"unknown": unknown, "incomplete": incomplete})
    return _condition("Initialized", not message, "ContainersNotInitialized" if message else "", message)


def _listed(names: Mapping[str, list[str]]) -> str:
    return ", ".join(f"containers with {kind} status: [{' '.join(listed)}]" for kind, listed in names.items() if listed)


def _condition(kind: str, holds: bool, reason: str = "", message: str = "") -> Condition:
    condition: Condition = {"type": kind, "status": "True" if holds else "False"}
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition
