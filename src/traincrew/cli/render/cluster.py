"""The cluster of this machine in a few lines: what it can do, what is taken and what is free, what is in it. Pure."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import Any

from traincrew.apimachinery import quantities

Object = dict[str, Any]

PREFIX = "traincrew.kubeflow.org/"
MIRROR = "kubernetes.io/config.mirror"
OWN = ("cpu", "memory")
"""Of a node's resources those that are told beside devices."""
_GIB, _MIB = 2**30, 2**20


def jobs_by_state(jobs: Iterable[Object]) -> dict[str, int]:
    found: collections.Counter[str] = collections.Counter()
    for job in jobs:
        conditions = (job.get("status") or {}).get("conditions") or ()
        current = [each["type"] for each in conditions if each["status"] == "True"]
        found[current[-1] if current else "New"] += 1
    return dict(found)


def pods_by_phase(pods: Iterable[Object]) -> dict[str, int]:
    return dict(collections.Counter((pod.get("status") or {}).get("phase", "Unknown") for pod in pods if is_work(pod)))


def is_work(pod: Object) -> bool:
    """The pod that stands for the operator is no work of anybody's."""
    return MIRROR not in (pod["metadata"].get("annotations") or {})


def node(found: Object) -> Object:
    """What a Node says of its abilities."""
    conditions = {each["type"]: each for each in (found.get("status") or {}).get("conditions") or ()}
    told: Object = {
        "name": found["metadata"]["name"],
        "ready": (conditions.get("Ready") or {}).get("status") == "True",
        "isolation": (found["metadata"].get("labels") or {}).get(f"{PREFIX}isolation", ""),
    }
    for name, kind in (("isolated", "Isolated"), ("egress", "Egress"), ("limits", "Limited")):
        condition = conditions.get(PREFIX + kind) or {}
        told[name] = {"holds": condition.get("status") == "True", "told": condition.get("message", "")}
    return told


def resources(found: Object, asked: Iterable[Mapping[str, int]], used: Mapping[str, str]) -> dict[str, Object]:
    """asked: by pod, cpu in thousandths; used: what was measured. Everything in cores, bytes and pieces."""
    total: collections.Counter[str] = collections.Counter()
    for each in asked:
        total.update(each)
    told = {}
    for name, text in ((found.get("status") or {}).get("allocatable") or {}).items():
        if name not in OWN and "/" not in name:
            continue
        held = _number(name, text)
        taken = total[name] / 1000 if name == "cpu" else total[name]
        told[name] = {"capacity": held, "requested": taken, "free": max(held - taken, 0)}
        if name in used:
            told[name]["used"] = _number(name, used[name])
    return told


def _number(name: str, text: str) -> float | int:
    return quantities.milli_value(text) / 1000 if name == "cpu" else quantities.value(text)


def lines(told: Object) -> str:
    rows = [
        ("server", told["server"]),
        ("process", f"{told['pid']}, since {told['started']}"),
        ("data", told["data"]),
        ("kubeconfig", told["kubeconfig"]),
        *_abilities(told),
        *((name, _amount(name, each)) for name, each in told["resources"].items()),
        *((kind, _counted(states)) for kind, states in told["jobs"].items()),
        ("pods", _counted(told["pods"]) or "none"),
    ]
    width = max(len(name) for name, _ in rows) + 1
    return "\n".join(f"{name:<{width}} {text}" for name, text in rows)


def _abilities(told: Object) -> list[tuple[str, str]]:
    found = told["node"]
    if found is None:
        return [("node", "none (started with --no-node); pods do not run")]
    named = ", ".join(told["overcommit"])
    allowed = f"{named}: pods may request more than the machine has" if named else "none"
    return [
        ("isolation", f"{found['isolation']}: {found['isolated']['told']}"),
        ("egress", found["egress"]["told"] if found["egress"]["holds"] else f"no: {found['egress']['told']}"),
        ("limits", found["limits"]["told"] if found["limits"]["holds"] else f"not enforced: {found['limits']['told']}"),
        ("overcommit", allowed),
        *([] if found["ready"] else [("node", f"{found['name']} is not ready")]),
    ]


def _amount(name: str, each: Object) -> str:
    def shown(value: float) -> str:
        return _bytes(int(value)) if name == "memory" else f"{value:g}"

    over = each["requested"] - each["capacity"]
    rest = f"{shown(over)} overcommitted" if over > 0 else f"{shown(each['free'])} free"
    text = f"{shown(each['capacity'])}{' cores' if name == 'cpu' else ''}: {shown(each['requested'])} requested by pods, {rest}"
    return f"{text}; {shown(round(each['used'], 2))} in use on this machine" if "used" in each else text


def _bytes(value: int) -> str:
    return f"{value / _GIB:.1f} GiB" if value >= _GIB else f"{value / _MIB:.0f} MiB"


def _counted(states: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in states.items())
