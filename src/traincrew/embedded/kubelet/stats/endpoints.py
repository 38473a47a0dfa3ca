"""The stats endpoints of the kubelet: /metrics/resource and /stats/summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.stats.collector import PodUsageSample, StatsSample, UsageRates, UsageSample


class _Family(NamedTuple):
    name: str
    kind: str
    help: str


_CONTAINER_CPU = _Family("container_cpu_usage_seconds_total", "counter", "Cumulative cpu time of the container in core-seconds")
_CONTAINER_MEMORY = _Family("container_memory_working_set_bytes", "gauge", "Current working set of the container in bytes")
_CONTAINER_START = _Family("container_start_time_seconds", "gauge", "Start time of the container since unix epoch in seconds")
_NODE_CPU = _Family("node_cpu_usage_seconds_total", "counter", "Cumulative cpu time of the node in core-seconds")
_NODE_MEMORY = _Family("node_memory_working_set_bytes", "gauge", "Current working set of the node in bytes")
_POD_CPU = _Family("pod_cpu_usage_seconds_total", "counter", "Cumulative cpu time of the pod in core-seconds")
_POD_MEMORY = _Family("pod_memory_working_set_bytes", "gauge", "Current working set of the pod in bytes")
_ERROR = _Family("resource_scrape_error", "gauge", "1 if there was an error while getting container metrics, 0 otherwise")


def resource_metrics(sample: StatsSample | None) -> str:
    """In the text format of Prometheus."""
    if sample is None:
        return "\n".join((*_header(_ERROR), f"{_ERROR.name} 1", ""))
    stamp = int(sample.taken.timestamp() * 1000)
    lines: list[str] = []
    for family, values in _families(sample):
        lines += _header(family)
        lines += [f"{family.name}{_labels(labels)} {value!r} {stamp}" for labels, value in values]
    return "\n".join((*lines, *_header(_ERROR), f"{_ERROR.name} 0", ""))


Values = Iterable[tuple[Mapping[str, str], float]]


def _families(sample: StatsSample) -> Iterator[tuple[_Family, Values]]:
    each = [(_pod_labels(pod) | {"container": name}, used) for pod in sample.pods for name, used in pod.containers.items()]
    yield _CONTAINER_CPU, [(labels, used.cpu) for labels, used in each]
    yield _CONTAINER_MEMORY, [(labels, used.memory) for labels, used in each]
    yield _CONTAINER_START, [(labels, _seconds(used.started)) for labels, used in each if used.started]
    yield _NODE_CPU, [({}, sample.node.cpu)]
    yield _NODE_MEMORY, [({}, sample.node.memory)]
    yield _POD_CPU, [(_pod_labels(pod), sum(used.cpu for used in pod.containers.values())) for pod in sample.pods]
    yield _POD_MEMORY, [(_pod_labels(pod), sum(used.memory for used in pod.containers.values())) for pod in sample.pods]


def _pod_labels(pod: PodUsageSample) -> dict[str, str]:
    return {"namespace": pod.namespace, "pod": pod.name}


def _header(family: _Family) -> tuple[str, str]:
    return f"# HELP {family.name} [STABLE] {family.help}", f"# TYPE {family.name} {family.kind}"


def _labels(labels: Mapping[str, str]) -> str:
    """Names of Kubernetes objects need no escaping."""
    return "{" + ",".join(f'{name}="{labels[name]}"' for name in sorted(labels)) + "}" if labels else ""


def _seconds(moment: str) -> float:
    return times.parse(moment).timestamp()


def summary(node: str, sample: StatsSample | None, rates: UsageRates | None) -> dict[str, Any]:
    if sample is None:
        return {"node": {"nodeName": node}, "pods": []}
    time = times.rfc3339(sample.taken)
    own = rates.node.cores if rates is not None else None
    memory = {**_memory(sample.node.memory, time), "availableBytes": max(0, sample.total - sample.node.memory)}
    node_stats = {"nodeName": node, "cpu": _cpu(sample.node.cpu, own, time), "memory": memory}
    return {"node": node_stats, "pods": [_pod(pod, rates, time) for pod in sample.pods]}


def _pod(pod: PodUsageSample, rates: UsageRates | None, time: str) -> dict[str, Any]:
    known = rates.pods.get((pod.namespace, pod.name), {}) if rates is not None else {}
    cores = {name: rate.cores for name, rate in known.items()}
    used = pod.containers.values()
    return {
        "podRef": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "startTime": pod.started or None,
        "containers": [_container(name, each, cores.get(name), time) for name, each in pod.containers.items()],
        "cpu": _cpu(sum(each.cpu for each in used), sum(cores.values()) if cores else None, time),
        "memory": _memory(sum(each.memory for each in used), time),
        "process_stats": {"process_count": pod.processes},
    }


def _container(name: str, used: UsageSample, cores: float | None, time: str) -> dict[str, Any]:
    start = {"startTime": used.started} if used.started else {}
    return {"name": name, **start, "cpu": _cpu(used.cpu, cores, time), "memory": _memory(used.memory, time)}


def _cpu(seconds: float, cores: float | None, time: str) -> dict[str, Any]:
    rate = {} if cores is None else {"usageNanoCores": round(cores * 1e9)}
    return {"time": time, **rate, "usageCoreNanoSeconds": round(seconds * 1e9)}


def _memory(working_set: int, time: str) -> dict[str, Any]:
    return {"time": time, "usageBytes": working_set, "workingSetBytes": working_set}
