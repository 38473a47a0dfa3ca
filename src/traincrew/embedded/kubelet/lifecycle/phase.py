"""Computes the phase of a pod from its container statuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traincrew.embedded.kubelet.lifecycle.pod import ContainerType, Pod

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
TERMINAL = (SUCCEEDED, FAILED)
Statuses = Mapping[str, Mapping[str, Any]]


def phase(pod: Pod, statuses: Statuses, terminated: bool) -> str:
    """terminated: no container is started again, whatever the restart policy."""
    initialization = _Initialization(pod, statuses)
    counts = _Counts(pod, statuses)
    if initialization.failed and pod.restart_policy == "Never":
        return FAILED
    if initialization.pending or (initialization.sidecars_pending and not any_container_started(pod, statuses)) or counts.waiting:
        return PENDING
    if counts.unknown:
        return PENDING
    if counts.running:
        return RUNNING
    if not counts.stopped:
        return PENDING
    return _after_exits(pod, counts, terminated)


def _after_exits(pod: Pod, counts: _Counts, terminated: bool) -> str:
    succeeded = counts.stopped == counts.succeeded
    if terminated:
        return SUCCEEDED if succeeded else FAILED
    if pod.restart_policy == "Always":
        return RUNNING
    if succeeded:
        return SUCCEEDED
    return FAILED if pod.restart_policy == "Never" else RUNNING


def any_container_started(pod: Pod, statuses: Statuses) -> bool:
    states = (_state(statuses, container.name) for container in pod.containers)
    return any("running" in state or "terminated" in state for state in states)


def _state(statuses: Statuses, name: str) -> Mapping[str, Any]:
    return (statuses.get(name) or {}).get("state") or {}


def _last_exit(statuses: Statuses, name: str) -> Mapping[str, Any] | None:
    return ((statuses.get(name) or {}).get("lastState") or {}).get("terminated")


class _Initialization:
    def __init__(self, pod: Pod, statuses: Statuses) -> None:
        self.pending = self.failed = self.sidecars_pending = False
        for container in pod.init_containers:
            if container.type is ContainerType.SIDECAR:
                self._sidecar(statuses, container.name)
            else:
                self._regular(statuses, container.name)

    def _regular(self, statuses: Statuses, name: str) -> None:
        state = _state(statuses, name)
        exit_state = state.get("terminated")
        if "waiting" in state:
            exit_state = _last_exit(statuses, name)
        if exit_state is None:
            self.pending = True
        elif exit_state["exitCode"] != 0:
            self.failed = True

    def _sidecar(self, statuses: Statuses, name: str) -> None:
        state = _state(statuses, name)
        if "running" in state:
            self.sidecars_pending |= not statuses[name].get("started")
        elif name in statuses and "terminated" not in state and _last_exit(statuses, name) is None:
            self.sidecars_pending = True


class _Counts:
    def __init__(self, pod: Pod, statuses: Statuses) -> None:
        self.unknown = self.running = self.waiting = self.stopped = self.succeeded = 0
        for container in (*pod.sidecars, *pod.containers):
            self._count(statuses, container.name, container.type is ContainerType.REGULAR)

    def _count(self, statuses: Statuses, name: str, regular: bool) -> None:
        state = _state(statuses, name)
        if "running" in state:
            self.running += 1
        elif "terminated" in state:
            self.stopped += regular
            self.succeeded += regular and state["terminated"]["exitCode"] == 0
        elif "waiting" in state:
            restarting = _last_exit(statuses, name) is not None
            self.stopped += regular and restarting
            self.waiting += not restarting
        else:
            self.unknown += 1
