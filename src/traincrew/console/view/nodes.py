"""Nodes with what their pods request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traincrew.apimachinery import quantities, resource_lists
from traincrew.console.contract.cluster import Node, NodeDevices
from traincrew.console.view.pods import ShownPod
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


_decoder: LenientDecoder[_StoredNode] = LenientDecoder(_StoredNode)


def node(raw: bytes, pods: Iterable[ShownPod], kinds: dict[str, str]) -> Node:
    """pods: all pods; those of other nodes and those that have ended are ignored. kinds: singular by operator name."""
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
        devices=[
            NodeDevices(resource=name, allocatable=quantities.value(amount), requested=quantities.value(requested.get(name, "0")))
            for name, amount in allocatable.items()
            if resource_lists.is_extended(name)
        ],
        labels=stored.metadata.labels,
        taints=[f"{each.key}{'=' if each.value else ''}{each.value}:{each.effect}" for each in stored.spec.taints],
        jobs=sorted({job for pod in here if (job := _job(pod, kinds))}),
    )


def _requested(pods: Iterable[ShownPod]) -> dict[str, str]:
    totals: dict[str, list[Any]] = {}
    for pod in pods:
        for container in pod.spec.containers:
            for name, amount in container.resources.requests.items():
                if quantities.is_quantity(amount):
                    totals.setdefault(name, []).append(amount)
    return {name: quantities.add(amounts) for name, amounts in totals.items()}


def _job(pod: ShownPod, kinds: dict[str, str]) -> str:
    labels = pod.metadata.labels
    name, kind = labels.get(naming.JOB_NAME, ""), kinds.get(labels.get(naming.OPERATOR_NAME, ""), "")
    return f"{pod.metadata.namespace}/{kind}/{name}" if name and kind else ""
