"""The page of `traincrew status`: abilities of the node, resources, jobs and pods."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from traincrew.apimachinery import byte_sizes, quantities
from traincrew.apimachinery.unstructured import Object

PREFIX = "traincrew.kubeflow.org/"
MIRROR = "kubernetes.io/config.mirror"
BASIC_RESOURCES = ("cpu", "memory")
"""Of a node's resources those that are state beside devices."""


def jobs_by_state(jobs: Iterable[Object]) -> dict[str, int]:
    states: collections.Counter[str] = collections.Counter()
    for job in jobs:
        conditions = (job.get("status") or {}).get("conditions") or ()
        current = [condition["type"] for condition in conditions if condition["status"] == "True"]
        states[current[-1] if current else "New"] += 1
    return dict(states)


def pods_by_phase(pods: Iterable[Object]) -> dict[str, int]:
    return dict(collections.Counter((pod.get("status") or {}).get("phase", "Unknown") for pod in pods if is_workload(pod)))


def is_workload(pod: Object) -> bool:
    """Whether the pod is a workload, not the mirror pod of the operator."""
    return MIRROR not in (pod["metadata"].get("annotations") or {})


def node(manifest: Object) -> Object:
    """The abilities of the node, from its conditions."""
    conditions = {entry["type"]: entry for entry in (manifest.get("status") or {}).get("conditions") or ()}
    state: Object = {
        "name": manifest["metadata"]["name"],
        "ready": (conditions.get("Ready") or {}).get("status") == "True",
        "isolation": (manifest["metadata"].get("labels") or {}).get(f"{PREFIX}isolation", ""),
    }
    for name, kind in (("isolated", "Isolated"), ("egress", "Egress"), ("limits", "Limited")):
        condition = conditions.get(PREFIX + kind) or {}
        state[name] = {"holds": condition.get("status") == "True", "message": condition.get("message", "")}
    return state


class Requests(NamedTuple):
    """The requests of each pod, CPU in millicores."""

    scheduled: Sequence[Mapping[str, int]]
    lent: Sequence[Mapping[str, int]] = ()
    """Of those: the workers of elastic jobs on idle capacity."""
    waiting: Sequence[Mapping[str, int]] = ()
    """Pods that have no node yet. What is free is held back for them."""


def resources(node: Object, requests: Requests, used: Mapping[str, str]) -> dict[str, Object]:
    """used: measured usage. The result is in cores, bytes and devices. `heldBack` is a part of `free`."""
    total, lent, waiting = (_sum(each) for each in requests)
    state = {}
    for name, text in ((node.get("status") or {}).get("allocatable") or {}).items():
        if name not in BASIC_RESOURCES and "/" not in name:
            continue
        capacity = _number(name, text)
        requested, given, wanted = (each[name] / 1000 if name == "cpu" else each[name] for each in (total, lent, waiting))
        free = max(capacity - requested, 0)
        state[name] = {"capacity": capacity, "requested": requested, "free": free, "lent": given, "heldBack": min(free, wanted)}
        if name in used:
            state[name]["used"] = _number(name, used[name])
    return state


def _sum(requests: Sequence[Mapping[str, int]]) -> collections.Counter[str]:
    total: collections.Counter[str] = collections.Counter()
    for each in requests:
        total.update(each)
    return total


def _number(name: str, text: str) -> float | int:
    return quantities.milli_value(text) / 1000 if name == "cpu" else quantities.value(text)


def text(state: Object) -> str:
    rows = [
        ("server", state["server"]),
        ("process", f"{state['pid']}, since {state['started']}"),
        ("data", state["data"]),
        ("kubeconfig", state["kubeconfig"]),
        *_node_rows(state),
        *((name, _amount(name, amounts)) for name, amounts in state["resources"].items()),
        *((kind, _counts(states)) for kind, states in state["jobs"].items()),
        ("pods", _counts(state["pods"]) or "none"),
    ]
    width = max(len(name) for name, _ in rows) + 1
    return "\n".join(f"{name:<{width}} {text}" for name, text in rows)


def _node_rows(state: Object) -> list[tuple[str, str]]:
    node = state["node"]
    if node is None:
        return [("node", "none (started with --no-node); pods do not run")]
    named = ", ".join(state["overcommit"])
    allowed = f"{named}: pods may request more than the machine has" if named else "none"
    return [
        ("isolation", f"{node['isolation']}: {node['isolated']['message']}"),
        ("egress", node["egress"]["message"] if node["egress"]["holds"] else f"no: {node['egress']['message']}"),
        ("limits", node["limits"]["message"] if node["limits"]["holds"] else f"not enforced: {node['limits']['message']}"),
        ("overcommit", allowed),
        *([] if node["ready"] else [("node", f"{node['name']} is not ready")]),
    ]


def _amount(name: str, amounts: Object) -> str:
    def shown(value: float) -> str:
        return byte_sizes.text(int(value), byte_sizes.MEASURED_MEMORY) if name == "memory" else f"{value:g}"

    over = amounts["requested"] - amounts["capacity"]
    rest = f"{shown(over)} overcommitted" if over > 0 else f"{shown(amounts['free'])} free"
    rest += f" (of which {shown(amounts['heldBack'])} held back for pending pods)" if amounts["heldBack"] else ""
    lent = f" (of which {shown(amounts['lent'])} lent to elastic jobs)" if amounts["lent"] else ""
    unit = " cores" if name == "cpu" else ""
    text = f"{shown(amounts['capacity'])}{unit}: {shown(amounts['requested'])} requested by pods{lent}, {rest}"
    return f"{text}; {shown(round(amounts['used'], 2))} in use on this machine" if "used" in amounts else text


def _counts(states: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in states.items())
