"""The taints of a node that follow from its conditions. PURE."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.nodes import health

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_OF_CONDITIONS = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OURS = {
    *((key, NO_SCHEDULE) for key in (*_OF_CONDITIONS.values(), UNSCHEDULABLE)),
    (NOT_READY, NO_EXECUTE),
    (UNREACHABLE, NO_EXECUTE),
}
"""Taints of others are kept."""


class TaintEviction(enum.Enum):
    """Whether the pods of a node that is not ready may be evicted."""

    ALLOWED = enum.auto()
    LATER = enum.auto()
    """Another node has just been tainted. Pods that are evicted already are not affected."""
    STOPPED = enum.auto()
    """No node of the cluster is ready: who is lost is not known."""


def updated(node: Object, eviction: TaintEviction, timestamp: str) -> list[Object] | None:
    """All taints of the node; None: they are as they should be."""
    before = of(node)
    wanted = [(key, NO_SCHEDULE) for key in _no_schedule_keys(node)]
    wanted += [(key, NO_EXECUTE) for key in _no_execute_keys(node, eviction)]
    present = {(each["key"], each["effect"]) for each in before}
    if set(wanted) == present & _OURS:
        return None
    kept = [each for each in before if (pair := (each["key"], each["effect"])) not in _OURS or pair in wanted]
    return kept + [
        {"key": key, "effect": effect, "timeAdded": timestamp}
        for key, effect in wanted if (key, effect) not in present
    ]  # fmt: skip


def evict(taints: Iterable[Object]) -> bool:
    """Whether there is the taint of a node that is not ready or unreachable, by which its pods are evicted."""
    return any(each["effect"] == NO_EXECUTE and each["key"] in (NOT_READY, UNREACHABLE) for each in taints)


def of(node: Object) -> list[Object]:
    return (node.get("spec") or {}).get("taints") or []


def _no_schedule_keys(node: Object) -> list[str]:
    listed = (node.get("status") or {}).get("conditions") or ()
    keys = [key for each in listed if (key := _OF_CONDITIONS.get((each["type"], each["status"])))]
    return keys + ([UNSCHEDULABLE] if (node.get("spec") or {}).get("unschedulable") else [])


def _no_execute_keys(node: Object, eviction: TaintEviction) -> list[str]:
    """A node is unreachable or not ready, never both. The taint is changed at once, but added only if that is allowed."""
    wanted = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(health.ready_status(node))
    if wanted is None or eviction is TaintEviction.STOPPED:
        return []
    return [wanted] if eviction is TaintEviction.ALLOWED or evict(of(node)) else []
