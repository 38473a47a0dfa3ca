"""The conditions of a pod: those that a kubelet owns are found anew, all others are left as they are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import phase as lifecycle_phase
from traincrew.embedded.kubelet.lifecycle.pod import Role, Subject

Condition = dict[str, Any]

DISRUPTED = "DisruptionTarget"
_OWN = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
_ENDED = {lifecycle_phase.SUCCEEDED: "PodCompleted", lifecycle_phase.FAILED: "PodFailed"}


def of_pod(subject: Subject, statuses: lifecycle_phase.Statuses, phase: str, sandboxed: bool) -> list[Condition]:
    """Without times; sandboxed: the pod has a sandbox with its network."""
    kept = [dict(each) for each in subject.status.get("conditions") or () if each.get("type") not in _OWN]
    containers = containers_ready(subject, statuses, phase)
    return [
        *kept,
        _condition("PodReadyToStartContainers", sandboxed),
        initialized(subject, statuses, phase),
        ready(subject, containers, kept),
        containers,
        _condition("PodScheduled", True),
    ]


def disrupted(conditions: list[Condition], reason: str, message: str) -> None:
    conditions[:] = [each for each in conditions if each["type"] != DISRUPTED]
    index = next((i for i, each in enumerate(conditions) if each["type"] in _OWN), len(conditions))
    conditions.insert(index, _condition(DISRUPTED, True, reason, message))


def dated(subject: Subject, conditions: Iterable[Condition], now: dt.datetime) -> list[Condition]:
    """A condition whose status stays keeps its time."""
    before = {each.get("type"): each for each in subject.status.get("conditions") or ()}
    found = []
    for each in conditions:
        old = before.get(each["type"]) or {}
        since = old.get("lastTransitionTime") if old.get("status") == each["status"] else None
        found.append({**each, "lastProbeTime": each.get("lastProbeTime"), "lastTransitionTime": since or times.rfc3339(now)})
    return found


def containers_ready(subject: Subject, statuses: lifecycle_phase.Statuses | None, phase: str) -> Condition:
    """None: nothing is known of any container."""
    if statuses is None:
        return _condition("ContainersReady", False, "UnknownContainerStatuses")
    names = [part.name for part in (*subject.sidecars, *subject.mains)]
    unknown = [name for name in names if name not in statuses]
    unready = [name for name in names if name in statuses and not statuses[name]["ready"]]
    if phase == lifecycle_phase.FAILED or (phase == lifecycle_phase.SUCCEEDED and not unknown):
        return _condition("ContainersReady", False, _ENDED[phase])
    message = _listed({"unknown": unknown, "unready": unready})
    return _condition("ContainersReady", not message, "ContainersNotReady" if message else "", message)


def ready(subject: Subject, containers: Condition, others: Iterable[Condition]) -> Condition:
    if containers["status"] != "True":
        return {**containers, "type": "Ready"}
    known = {each["type"]: each.get("status") for each in others}
    faults = []
    for gate in subject.spec.get("readinessGates") or ():
        kind = gate["conditionType"]
        if kind not in known:
            faults.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif known[kind] != "True":
            faults.append(f'the status of pod readiness gate "{kind}" is not "True", but {known[kind]}')
    return _condition("Ready", not faults, "ReadinessGatesNotReady" if faults else "", ", ".join(faults))


def initialized(subject: Subject, statuses: lifecycle_phase.Statuses | None, phase: str) -> Condition:
    if statuses is None and subject.inits:
        return _condition("Initialized", False, "UnknownContainerStatuses")
    statuses = statuses or {}
    unknown = [part.name for part in subject.inits if part.name not in statuses]
    if phase == lifecycle_phase.SUCCEEDED and not unknown:
        return _condition("Initialized", True, "PodCompleted")
    if lifecycle_phase.any_main_started(subject, statuses):
        return _condition("Initialized", True)
    incomplete = [
        part.name
        for part in subject.inits
        if part.name in statuses and not statuses[part.name].get("started" if part.role is Role.SIDECAR else "ready")
    ]
    message = _listed({"unknown": unknown, "incomplete": incomplete})
    return _condition("Initialized", not message, "ContainersNotInitialized" if message else "", message)


def _listed(names: Mapping[str, list[str]]) -> str:
    return ", ".join(f"containers with {kind} status: [{' '.join(found)}]" for kind, found in names.items() if found)


def _condition(kind: str, holds: bool, reason: str = "", message: str = "") -> Condition:
    found: Condition = {"type": kind, "status": "True" if holds else "False"}
    if reason:
        found["reason"] = reason
    if message:
        found["message"] = message
    return found
