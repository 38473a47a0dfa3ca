"""Why the pods of a job can never run on the cluster of this machine, however long one waits. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from traincrew.apimachinery import byte_sizes, quantities
from traincrew.model import objects

Object = dict[str, Any]
_SELECTOR = re.compile(r"(\d+) node\(s\) didn't match Pod's node affinity/selector")
_INSUFFICIENT = re.compile(r"Insufficient ([\w./-]*\w)")
_BYTES = ("memory", "ephemeral-storage")
_INVALID_IMAGE = "InvalidImageName"
_CLOSED = "(runAsUser) may not use "
"""Of the embedded kubelet: the user of the container may not enter the directory of its environment."""


def container_reason(pods: Sequence[objects.Pod]) -> str:
    """The message about a container that can never be created; empty if there is none."""
    for pod in (each for each in pods if not each.terminating):
        for status in pod.status.init_container_statuses + pod.status.container_statuses:
            waiting = status.state.waiting
            if waiting is not None and (waiting.reason == _INVALID_IMAGE or _CLOSED in waiting.message):
                return f"container {status.name} of pod {pod.name}: {waiting.message or waiting.reason}"
    return ""


def unschedulable(pods: Sequence[objects.Pod]) -> list[objects.Pod]:
    conditions = ((pod, pod.status.condition("PodScheduled")) for pod in pods if not pod.terminating and not pod.finished)
    return [pod for pod, scheduled in conditions if scheduled is not None and scheduled.status == "False"]


def scheduling_reason(waiting: Sequence[objects.Pod], pods: Sequence[Object], nodes: Sequence[Object], *, together: bool) -> str:
    """Why the nodes are too small or of the wrong kind even if nothing else runs on them; empty if they are not.

    pods: of the job. together: all of them must run at the same time.
    """
    if not nodes:
        return ""  # the node has not registered yet
    for pod in waiting:
        scheduled = pod.status.condition("PodScheduled")
        message = scheduled.message if scheduled is not None else ""
        selector = _SELECTOR.search(message)
        if selector and int(selector[1]) >= len(nodes):
            return f"no node has the labels that pod {pod.name} requires (nodeSelector or node affinity)"
        for resource in _INSUFFICIENT.findall(message):
            if reason := _shortage(resource, pods, nodes, together=together):
                return reason
    return ""


def _shortage(resource: str, pods: Sequence[Object], nodes: Sequence[Object], *, together: bool) -> str:
    amounts = [quantities.add([*_requests(pod, resource), "0"]) for pod in pods]
    available = [str(node["status"].get("allocatable", {}).get(resource, "0")) for node in nodes]
    largest = max(amounts, key=quantities.nanos, default="0")
    if quantities.nanos(largest) > max(map(quantities.nanos, available)):
        most = max(available, key=quantities.nanos)
        return f"a pod needs {_amount(resource, largest)}{_of(resource)}, and the node has {_amount(resource, most)}"
    total, capacity = quantities.add([*amounts, "0"]), quantities.add([*available, "0"])
    if together and quantities.nanos(total) > quantities.nanos(capacity):
        together_needed = f"{_amount(resource, total)}{_of(resource)} together"
        return f"the pods need {together_needed}, and the node has {_amount(resource, capacity)}"
    return ""


def _amount(resource: str, quantity: str) -> str:
    """Bytes in a unit that people compare: nodes report their memory in Ki."""
    return byte_sizes.text(quantities.value(quantity)) if resource in _BYTES else quantity


def _of(resource: str) -> str:
    return f" of {resource}" if resource in _BYTES else f" {resource}"


def _requests(pod: Object, resource: str) -> list[str]:
    found = []
    for container in pod["spec"]["containers"]:
        requirements = container.get("resources") or {}
        amount = (requirements.get("requests") or {}).get(resource) or (requirements.get("limits") or {}).get(resource)
        found += [str(amount)] if amount else []
    return found
