"""The page of `traincrew top`: nodes, jobs with their replicas, and devices with their holders."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from traincrew.apimachinery import byte_sizes, durations, quantities
from traincrew.cli.render import tables
from traincrew.inspection import observed_job, pod_waiting_reasons
from traincrew.inspection.measured_usage import MeasuredUsage
from traincrew.model import naming
from traincrew.model.meta import Time
from traincrew.scheduling.pod_info import PodInfo


@dataclasses.dataclass(frozen=True)
class ClusterUsage:
    """What was read from the API. Parts that the user may not read are empty."""

    jobs: Sequence[observed_job.ObservedJob] = ()
    pods: Sequence[PodInfo] = ()
    nodes: Sequence[Mapping[str, Any]] = ()
    pod_usage: Mapping[tuple[str, str], MeasuredUsage] = dataclasses.field(default_factory=dict)
    """By namespace and name."""
    node_usage: Mapping[str, MeasuredUsage] = dataclasses.field(default_factory=dict)
    notes: Sequence[str] = ()
    """What could not be read, and why."""


def devices(pod: PodInfo) -> dict[str, int]:
    """The devices that the pod holds: the extended resources it requests, while it has a node."""
    if not pod.spec.node_name or pod.finished:
        return {}
    return {name: count for name, count in pod.requests.items() if is_device(name) and count}


def is_device(resource: str) -> bool:
    return "/" in resource and not resource.startswith("kubernetes.io/")


def holder(pod: PodInfo) -> str:
    """`default/mnist worker-0` for a replica of a job."""
    job = pod.metadata.labels.get(naming.JOB_NAME)
    if not job:
        return f"{pod.metadata.namespace}/{pod.metadata.name}"
    return f"{pod.metadata.namespace}/{job} {observed_job.replica(job, pod.metadata.name)}"


def as_json(usage: ClusterUsage) -> dict[str, Any]:
    return {
        "nodes": [_node(usage, node) for node in usage.nodes],
        "jobs": [_job(usage, job) for job in _active(usage)],
        "devices": [_device(usage, name) for name in _device_names(usage)],
        "notes": list(usage.notes),
    }


def _active(usage: ClusterUsage) -> list[observed_job.ObservedJob]:
    """Jobs that are not finished, and finished ones whose pods still run."""
    return [job for job in usage.jobs if not job.job.status.finished or any(pod.active for pod in job.pods)]


def _node(usage: ClusterUsage, node: Mapping[str, Any]) -> dict[str, Any]:
    name = node["metadata"]["name"]
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    used = usage.node_usage.get(name)
    capacity = {
        "cpu": quantities.milli_value(allocatable.get("cpu", "0")) / 1000,
        "memory": quantities.value(allocatable.get("memory", "0")),
    }
    total = {key: quantities.value(text) for key, text in allocatable.items() if is_device(key)}
    held = {key: sum(devices(pod).get(key, 0) for pod in usage.pods if pod.spec.node_name == name) for key in total}
    return {
        "name": name,
        "capacity": capacity,
        "usage": dataclasses.asdict(used) if used else None,
        "devices": {key: {"total": total[key], "held": held[key]} for key in total},
    }


def _job(usage: ClusterUsage, job: observed_job.ObservedJob) -> dict[str, Any]:
    by_name = {(pod.metadata.namespace, pod.metadata.name): pod for pod in usage.pods}
    replicas = []
    for pod in job.pods:
        key = (pod.metadata.namespace, pod.name)
        used, info = usage.pod_usage.get(key), by_name.get(key)
        replicas.append(
            {
                "name": job.replica(pod),
                "pod": pod.name,
                "phase": "Terminating" if pod.terminating else pod.status.phase,
                "node": pod.spec.node_name,
                "usage": dataclasses.asdict(used) if used else None,
                "devices": devices(info) if info is not None else {},
                "waiting": pod_waiting_reasons.pod_reason(pod),
            }
        )
    return {
        "kind": job.kind.kind,
        "namespace": job.job.namespace,
        "name": job.job.name,
        "state": job.state,
        "replicas": replicas,
    }


def _device_names(usage: ClusterUsage) -> list[str]:
    """Devices of the nodes, and devices that pods hold on nodes which the user may not read."""
    names = [name for node in usage.nodes for name in _node(usage, node)["devices"]]
    return list(dict.fromkeys([*names, *(name for pod in usage.pods for name in devices(pod))]))


def _device(usage: ClusterUsage, name: str) -> dict[str, Any]:
    holders = [{"holder": holder(pod), "count": held} for pod in usage.pods if (held := devices(pod).get(name))]
    counts = [_node(usage, node)["devices"].get(name, {"total": 0})["total"] for node in usage.nodes]
    return {"name": name, "total": sum(counts) if usage.nodes else None, "holders": holders}


def text(usage: ClusterUsage, now: Time, *, namespaces: bool = False, columns: int = 0) -> str:
    """columns: the width at which lines are cut; 0: not cut."""
    sections = [_nodes_table(usage), _jobs_table(usage, now, namespaces), _devices_table(usage), "\n".join(usage.notes)]
    return tables.cut("\n\n".join(filter(None, sections)), columns)


def _nodes_table(usage: ClusterUsage) -> str:
    if not usage.nodes:
        return ""
    rows = [["NODE", "CPU", "MEMORY", "DEVICES"]]
    for state in (_node(usage, node) for node in usage.nodes):
        used, capacity = state["usage"] or {}, state["capacity"]
        held = ", ".join(f"{name} {each['held']}/{each['total']}" for name, each in state["devices"].items())
        cpu = f"{_cores(used.get('cpu'))} of {capacity['cpu']:g}"
        rows.append([state["name"], cpu, f"{_bytes(used.get('memory'))} of {_bytes(capacity['memory'])}", held or "-"])
    return tables.table(rows)


def _jobs_table(usage: ClusterUsage, now: Time, namespaces: bool) -> str:
    active = _active(usage)
    if not active:
        return "No active jobs."
    head = ["JOB", "STATE", "CPU", "MEMORY", "GPUS", "NODE", "AGE", "WAITING FOR"]
    rows = [["NAMESPACE", *head] if namespaces else head]
    for job in active:
        state = _job(usage, job)
        for row in (_job_row(job, state, now), *(_replica_row(each) for each in state["replicas"])):
            rows.append([job.job.namespace, *row] if namespaces else row)
    return tables.table(rows)


def _job_row(job: observed_job.ObservedJob, state: Mapping[str, Any], now: Time) -> list[str]:
    used = [each["usage"] for each in state["replicas"] if each["usage"]]
    cpu = _cores(sum(each["cpu"] for each in used) if used else None)
    memory = _bytes(sum(each["memory"] for each in used) if used else None)
    count = sum(_count(each["devices"]) for each in state["replicas"])
    waiting = pod_waiting_reasons.job_reason(job)
    age = durations.age(job.job.metadata.creation_timestamp, now)
    return [job.reference, job.state, cpu, memory, str(count) if count else "-", "", age, " ".join(waiting.split())]


def _replica_row(replica: Mapping[str, Any]) -> list[str]:
    used = replica["usage"] or {}
    count = _count(replica["devices"])
    cells = [f"  {replica['name']}", replica["phase"], _cores(used.get("cpu")), _bytes(used.get("memory"))]
    return [*cells, str(count) if count else "-", replica["node"] or "-", "", " ".join(replica["waiting"].split())]


def _count(held: Mapping[str, int]) -> int:
    return sum(held.values())


def _devices_table(usage: ClusterUsage) -> str:
    names = _device_names(usage)
    if not names:
        return ""
    rows = [["DEVICE", "HELD", "FREE", "HELD BY"]]
    for state in (_device(usage, name) for name in names):
        held = sum(each["count"] for each in state["holders"])
        free = str(max(state["total"] - held, 0)) if state["total"] is not None else "?"
        holders = ", ".join(f"{each['holder']} ({each['count']})" for each in state["holders"])
        rows.append([state["name"], str(held), free, holders or "-"])
    return tables.table(rows)


def _cores(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _bytes(value: int | None) -> str:
    return "-" if value is None else byte_sizes.text(value, byte_sizes.MEASURED_MEMORY)
