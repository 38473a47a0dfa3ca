"""Nodes with what their pods request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from traincrew.apimachinery import quantities, resource_lists
from traincrew.console.contract.cluster import Device, Node, NodeDevices
from traincrew.console.view.pods import Amount, ShownPod
from traincrew.inspection import observed_job
from traincrew.model import naming
from traincrew.model.lenient_decoding import LenientDecoder
from traincrew.model.meta import Meta, Struct


class _Condition(Struct, gc=False):
    type: str = ""
    status: str = ""
    message: str = ""


class _NodeStatus(Struct):
    allocatable: dict[str, str | int | float] = {}
    conditions: list[_Condition] = []


class _Taint(Struct, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""


class _NodeSpec(Struct):
    unschedulable: bool = False
    taints: list[_Taint] = []


class _StoredNode(Struct):
    metadata: Meta
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


Kinds = Mapping[str, str]
"""Lowercase singular of a kind by the name of its operator."""
MAX_DEVICES = 64
"""Devices that are shown one by one: a device plugin may declare each of its GPUs as thousands."""
MAX_COUNT = 10_000

_decoder: LenientDecoder[_StoredNode] = LenientDecoder(_StoredNode)


def node(raw: bytes, pods: Iterable[ShownPod], kinds: Kinds, used: Mapping[str, Mapping[str, Amount]]) -> Node:
    """pods: all pods; those of other nodes and those that have ended are ignored. used: the usage by node."""
    stored = _decoder.decode(raw)[0]
    here = [pod for pod in pods if pod.spec.node_name == stored.metadata.name and not pod.finished]
    ready = next((each for each in stored.status.conditions if each.type == "Ready"), _Condition())
    requested = _requested(here)
    allocatable = {name: str(amount) for name, amount in stored.status.allocatable.items() if quantities.is_quantity(amount)}
    return Node(
        name=stored.metadata.name,
        ready=ready.status == "True",
        schedulable=not stored.spec.unschedulable,
        message="" if ready.status == "True" else ready.message,
        created=stored.metadata.creation_timestamp,
        allocatable=allocatable,
        requested=requested,
        used={name: str(amount) for name, amount in used.get(stored.metadata.name, {}).items()},
        devices=[
            _devices(name, quantities.value(amount), here, kinds)
            for name, amount in allocatable.items()
            if resource_lists.is_extended(name)
        ],
        labels=stored.metadata.labels,
        taints=[f"{each.key}{'=' if each.value else ''}{each.value}:{each.effect}" for each in stored.spec.taints],
        jobs=sorted({job for pod in here if (job := _job(pod, kinds))}),
    )


def _devices(resource: str, allocatable: int, pods: Iterable[ShownPod], kinds: Kinds) -> NodeDevices:
    held = [_holder(pod, kinds) for pod in pods for _ in range(_count(pod, resource))]
    free = [Device()] * max(allocatable - len(held), 0)
    return NodeDevices(resource=resource, allocatable=allocatable, requested=len(held), devices=[*held, *free][:MAX_DEVICES])


def _count(pod: ShownPod, resource: str) -> int:
    amounts = [each.resources.requests.get(resource, "0") for each in pod.spec.containers]
    return sum(min(quantities.value(each), MAX_COUNT) for each in amounts if quantities.is_quantity(each))


def _holder(pod: ShownPod, kinds: Kinds) -> Device:
    labels = pod.metadata.labels
    kind, job = kinds.get(labels.get(naming.OPERATOR_NAME, ""), ""), labels.get(naming.JOB_NAME, "")
    belongs = bool(kind and job)
    return Device(
        namespace=pod.metadata.namespace,
        pod=pod.name,
        kind=kind if belongs else "",
        job=job if belongs else "",
        replica=observed_job.replica(job, pod.name) if belongs else "",
    )


def _requested(pods: Iterable[ShownPod]) -> dict[str, str]:
    totals: dict[str, list[Any]] = {}
    for pod in pods:
        for container in pod.spec.containers:
            for name, amount in container.resources.requests.items():
                if quantities.is_quantity(amount):
                    totals.setdefault(name, []).append(amount)
    return {name: quantities.add(amounts) for name, amounts in totals.items()}


def _job(pod: ShownPod, kinds: Kinds) -> str:
    labels = pod.metadata.labels
    name, kind = labels.get(naming.JOB_NAME, ""), kinds.get(labels.get(naming.OPERATOR_NAME, ""), "")
    return f"{pod.metadata.namespace}/{kind}/{name}" if name and kind else ""
