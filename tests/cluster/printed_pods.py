"""Pods in many states, for the comparison of the printers of two API servers: object and status."""

from __future__ import annotations

import dataclasses
import itertools
import uuid
from typing import Any

Object = dict[str, Any]
_numbers = itertools.count()
_RUN = uuid.uuid4().hex[:6]


@dataclasses.dataclass(frozen=True)
class PrintedObject:
    path: str
    """Path of the collection, with {namespace} if it is namespaced."""
    object: Object
    status: Object | None = None


def meta(name: str, **more: Any) -> Object:
    return {"name": f"{name}-{_RUN}-{next(_numbers)}", **more}


def _terminated(code: int, reason: str = "", **more: Any) -> Object:
    times = {"startedAt": "2024-01-01T00:00:00Z", "finishedAt": "2024-01-01T00:00:05Z"}
    return {"terminated": {"exitCode": code, "reason": reason, "containerID": "", **times, **more}}


def _waiting(reason: str = "") -> Object:
    return {"waiting": {"reason": reason} if reason else {}}


_RUNNING: Object = {"running": {"startedAt": "2024-01-01T00:00:00Z"}}


def _status(name: str, state: Object, **more: Any) -> Object:
    known: Object = {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": 0}
    return known | {"state": state} | more


def condition(type: str, status: str = "True", **more: Any) -> Object:
    return {"type": type, "status": status, **more}


def containers(*names: str, **more: Any) -> list[Object]:
    return [{"name": name, "image": f"registry/{name}:1", **more} for name in names]


POD_SPECS: dict[str, Object] = {
    "one": {"containers": containers("a")},
    "two": {"containers": containers("a", "b"), "nodeName": "n1"},
    "init": {"containers": containers("a"), "initContainers": containers("i", "j")},
    "sidecar": {"containers": containers("a"), "initContainers": containers("i", restartPolicy="Always") + containers("j")},
    "gated": {"containers": containers("a"), "schedulingGates": [{"name": "g/x"}]},
    "gates": {"containers": containers("a"), "readinessGates": [{"conditionType": "g/x"}, {"conditionType": "g/y"}]},
}
_CRASHED = {"restartCount": 7, "lastState": _terminated(1, "Error")}
POD_STATES: list[tuple[str, Object]] = [
    ("one", {}),
    ("one", {"phase": "Running", "containerStatuses": [_status("a", _RUNNING, ready=True)], "podIPs": [{"ip": "10.1.1.1"}]}),
    ("one", {"phase": "Running", "containerStatuses": [_status("a", _RUNNING)], "podIP": "10.1.1.2"}),
    ("one", {"phase": "Running", "containerStatuses": [_status("a", _waiting("CrashLoopBackOff"), **_CRASHED)]}),
    ("one", {"phase": "Pending", "containerStatuses": [_status("a", _waiting("ContainerCreating"))]}),
    ("one", {"phase": "Pending", "containerStatuses": [_status("a", _waiting())]}),
    ("one", {"phase": "Succeeded", "containerStatuses": [_status("a", _terminated(0, "Completed"))]}),
    ("one", {"phase": "Failed", "containerStatuses": [_status("a", _terminated(1, "Error"))]}),
    ("one", {"phase": "Failed", "containerStatuses": [_status("a", _terminated(137))]}),
    ("one", {"phase": "Failed", "containerStatuses": [_status("a", _terminated(137, signal=9))]}),
    ("one", {"phase": "Failed", "containerStatuses": [_status("a", _terminated(137, "OOMKilled"), restartCount=2)]}),
    ("one", {"phase": "Failed", "reason": "Evicted", "message": "too much"}),
    ("one", {"phase": "Unknown", "reason": "NodeLost"}),
    ("one", {"phase": "Pending", "nominatedNodeName": "n2", "conditions": [condition("PodScheduled", "False")]}),
    (
        "two",
        {
            "phase": "Running",
            "containerStatuses": [_status("a", _RUNNING, ready=True), _status("b", _terminated(0, "Completed"))],
            "conditions": [condition("Ready")],
        },
    ),
    (
        "two",
        {
            "phase": "Running",
            "containerStatuses": [_status("a", _RUNNING, ready=True), _status("b", _terminated(0, "Completed"))],
            "conditions": [condition("Ready", "False")],
        },
    ),
    ("two", {"phase": "Running", "containerStatuses": [_status("a", _waiting("X")), _status("b", _waiting("Y"), **_CRASHED)]}),
    (
        "init",
        {"phase": "Pending", "initContainerStatuses": [_status("i", _waiting("PodInitializing")), _status("j", _waiting())]},
    ),
    (
        "init",
        {
            "phase": "Pending",
            "initContainerStatuses": [_status("i", _terminated(0, "Completed"), **_CRASHED), _status("j", _RUNNING)],
            "containerStatuses": [_status("a", _waiting("PodInitializing"))],
        },
    ),
    ("init", {"phase": "Pending", "initContainerStatuses": [_status("i", _waiting("CrashLoopBackOff"), **_CRASHED)]}),
    ("init", {"phase": "Failed", "initContainerStatuses": [_status("i", _terminated(3))]}),
    ("init", {"phase": "Failed", "initContainerStatuses": [_status("i", _terminated(3, "Error"))]}),
    ("init", {"phase": "Failed", "initContainerStatuses": [_status("i", _terminated(3, signal=15))]}),
    (
        "init",
        {
            "phase": "Running",
            "initContainerStatuses": [_status("i", _terminated(0), **_CRASHED), _status("j", _terminated(0))],
            "containerStatuses": [_status("a", _RUNNING, ready=True, restartCount=1)],
            "conditions": [condition("Initialized")],
        },
    ),
    (
        "sidecar",
        {
            "phase": "Running",
            "initContainerStatuses": [_status("i", _RUNNING, ready=True, started=True, **_CRASHED), _status("j", _terminated(0))],
            "containerStatuses": [_status("a", _RUNNING, ready=True)],
        },
    ),
    (
        "sidecar",
        {
            "phase": "Pending",
            "initContainerStatuses": [_status("i", _RUNNING, ready=False, started=False), _status("j", _waiting())],
        },
    ),
    ("gated", {"phase": "Pending", "conditions": [condition("PodScheduled", "False", reason="SchedulingGated")]}),
    ("gates", {"phase": "Running", "conditions": [condition("g/x"), condition("g/y", "False")]}),
]


def pods() -> list[PrintedObject]:
    path = "/api/v1/namespaces/{namespace}/pods"
    made = [PrintedObject(path, {"metadata": meta("pod"), "spec": POD_SPECS[spec]}, status) for spec, status in POD_STATES]
    doomed = {"finalizers": ["test/keep"], "annotations": {"delete": "me"}}
    for phase, reason in (("Running", ""), ("Running", "NodeLost"), ("Succeeded", "")):
        metadata = meta("doomed", **doomed)
        made.append(PrintedObject(path, {"metadata": metadata, "spec": POD_SPECS["one"]}, {"phase": phase, "reason": reason}))
    return made
