"""Pods: the cells of a row."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.apimachinery.durations import Ages
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.printers.builtin.cells import (
    NONE,
    Condition,
    Container,
    Fields,
    Metadata,
)
from traincrew.embedded.apiserver.printers.columns import Printer, definitions


class Terminated(Fields):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    finished_at: str | None = None


class Waiting(Fields):
    reason: str = ""


class PrintedContainerState(Fields):
    waiting: Waiting | None = None
    running: Fields | None = None
    terminated: Terminated | None = None


class ContainerStatus(Fields):
    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: PrintedContainerState = msgspec.field(default_factory=PrintedContainerState)
    last_state: PrintedContainerState = msgspec.field(default_factory=PrintedContainerState)


class ReadinessGate(Fields):
    condition_type: str = ""


class PodSpec(Fields):
    containers: list[Container] = []
    init_containers: list[Container] = []
    node_name: str = ""
    readiness_gates: list[ReadinessGate] = []


class PodIP(Fields):
    ip: str = ""


class PodStatus(Fields):
    phase: str = ""
    reason: str = ""
    conditions: list[Condition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    nominated_node_name: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    pod_ips: list[PodIP] = msgspec.field(name="podIPs", default=[])


class Pod(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class _Restarts:
    def __init__(self) -> None:
        self.count, self.last = 0, ""

    def add(self, container: ContainerStatus) -> None:
        self.count += container.restart_count
        ended = container.last_state.terminated
        if ended is not None and ended.finished_at:
            # All times are in UTC and whole seconds: they compare as strings.
            self.last = max(self.last, ended.finished_at)

    def text(self, ages: Ages) -> str:
        return f"{self.count} ({ages.since(self.last)} ago)" if self.count and self.last else str(self.count)


class _PodSummary:
    """Collected while iterating over a pod's containers."""

    def __init__(self, pod: Pod) -> None:
        status = pod.status
        self.reason = status.reason or status.phase
        if any(each.type == "PodScheduled" and each.reason == "SchedulingGated" for each in status.conditions):
            self.reason = "SchedulingGated"
        self.restarts, self.sidecar_restarts = _Restarts(), _Restarts()
        self.ready, self.total = 0, len(pod.spec.containers)


def _pod(pod: Pod, ages: Ages) -> list[Any]:
    reading = _PodSummary(pod)
    sidecars = frozenset(each.name for each in pod.spec.init_containers if each.restart_policy == "Always")
    reading.total += len(sidecars)
    initializing = bool(pod.status.init_container_statuses) and _read_init_containers(reading, pod, sidecars)
    if not initializing or _is(pod, "Initialized"):
        _read_containers(reading, pod)
    _read_deletion(reading, pod)
    cells = [pod.metadata.name, f"{reading.ready}/{reading.total}", reading.reason, reading.restarts.text(ages)]
    return [*cells, ages.since(pod.metadata.creation_timestamp), *_wide(pod)]


def _read_init_containers(reading: _PodSummary, pod: Pod, sidecars: frozenset[str]) -> bool:
    """Whether the pod is still initializing."""
    for index, container in enumerate(pod.status.init_container_statuses):
        reading.restarts.add(container)
        if container.name in sidecars:
            reading.sidecar_restarts.add(container)
        ended = container.state.terminated
        if ended is not None and ended.exit_code == 0:
            continue
        if container.name in sidecars and container.started:
            reading.ready += container.ready
            continue
        reading.reason = f"Init:{_init_reason(container) or f'{index}/{len(pod.spec.init_containers)}'}"
        return True
    return False


def _init_reason(container: ContainerStatus) -> str:
    state = container.state
    if state.terminated is not None:
        return _termination_reason(state.terminated)
    waiting = state.waiting.reason if state.waiting is not None else ""
    return "" if waiting == "PodInitializing" else waiting


def _termination_reason(ended: Terminated) -> str:
    return ended.reason or (f"Signal:{ended.signal}" if ended.signal else f"ExitCode:{ended.exit_code}")


def _read_containers(reading: _PodSummary, pod: Pod) -> None:
    # Restarts of completed init containers are not counted; those of sidecars are.
    reading.restarts = reading.sidecar_restarts
    running = False
    for container in reversed(pod.status.container_statuses):
        reading.restarts.add(container)
        state = container.state
        if state.waiting is not None and state.waiting.reason:
            reading.reason = state.waiting.reason
        elif state.terminated is not None:
            reading.reason = _termination_reason(state.terminated)
        elif container.ready and state.running is not None:
            running = True
            reading.ready += 1
    if running and reading.reason == "Completed":
        reading.reason = "Running" if _is(pod, "Ready") else "NotReady"


def _read_deletion(reading: _PodSummary, pod: Pod) -> None:
    if pod.metadata.deletion_timestamp is None:
        return
    if pod.status.reason == "NodeLost":
        reading.reason = "Unknown"
    elif pod.status.phase not in ("Succeeded", "Failed"):
        reading.reason = "Terminating"


def _is(pod: Pod, condition: str) -> bool:
    return any(each.type == condition and each.status == "True" for each in pod.status.conditions)


def _wide(pod: Pod) -> list[str]:
    spec, status = pod.spec, pod.status
    address = status.pod_ips[0].ip if status.pod_ips else status.pod_ip
    return [address or NONE, spec.node_name or NONE, status.nominated_node_name or NONE, _gates(pod)]


def _gates(pod: Pod) -> str:
    gates = pod.spec.readiness_gates
    return f"{sum(_is(pod, gate.condition_type) for gate in gates)}/{len(gates)}" if gates else NONE


def _completed(reason: str, message: str) -> list[Object]:
    return [{"type": "Completed", "status": "True", "reason": reason, "message": message}]


_ENDS = {
    "Succeeded": _completed("Succeeded", "The pod has completed successfully."),
    "Failed": _completed("Failed", "The pod failed."),
}


def _end(pod: Pod) -> list[Object] | None:
    return _ENDS.get(pod.status.phase)


_POD = definitions("Name", "Ready", "Status", "Restarts", "Age", "IP*", "Node*", "Nominated Node*", "Readiness Gates*")
PRINTERS = {
    ("", "Pod"): Printer(_POD, Pod, _pod, _end),
}
