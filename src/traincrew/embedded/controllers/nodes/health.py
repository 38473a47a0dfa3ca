"""When a node is lost: nothing was heard of it for the grace period. PURE."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from traincrew.apimachinery.unstructured import Object

READY = "Ready"
KUBELET_CONDITIONS = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
STOPPED = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
NEVER = ("NodeStatusNeverUpdated", "Kubelet never posted node status.")


class Timing(NamedTuple):
    """Seconds. The defaults are those of kube-controller-manager 1.32."""

    period: float = 5.0
    """Between two checks of all nodes."""
    grace: float = 50.0
    startup_grace: float = 60.0
    """For a node that has never written its status."""
    deaf: float = 20.0
    """If no node was heard of for this time, the fault is here. Two periods in which a kubelet renews its lease."""


TIMING = Timing()


class NodeHealth(NamedTuple):
    heard: float
    """The running time at which the node was last heard of."""
    renewed: str
    """The renewTime of its lease."""
    heartbeat: str | None
    """The lastHeartbeatTime of its condition Ready. None: it has no such condition."""


def condition(node: Object, kind: str) -> Object | None:
    listed = (node.get("status") or {}).get("conditions") or ()
    return next((each for each in listed if each["type"] == kind), None)


def ready_status(node: Object) -> str:
    """True, False or Unknown; empty: the node has never reported it."""
    status: str = (condition(node, READY) or {}).get("status", "")
    return status


def observe(before: NodeHealth | None, node: Object, renewed: str, now: float) -> NodeHealth:
    """Times of the node are compared with each other only: its clock may differ from ours.

    before: None for a node that was not known. It has the whole grace period, whatever its times say.
    """
    ready = condition(node, READY)
    heartbeat = None if ready is None else ready.get("lastHeartbeatTime", "")
    if before is None or renewed not in ("", before.renewed) or heartbeat != before.heartbeat:
        return NodeHealth(now, renewed, heartbeat)
    return before


def is_lost(health: NodeHealth, now: float, timing: Timing) -> bool:
    return now - health.heard > (timing.startup_grace if health.heartbeat is None else timing.grace)


def is_deaf(nodes: Collection[NodeHealth], now: float, timing: Timing) -> bool:
    """Nobody was heard of: the API server could not store a heartbeat, because the disk is full or does not respond.

    kube-controller-manager loses its own lease then, and begins anew. Here the node of this process would be lost first.
    """
    return bool(nodes) and now - max(each.heard for each in nodes) > timing.deaf


def unknown_conditions(node: Object, timestamp: str) -> list[Object]:
    """The conditions of a lost node that are to be written; empty: all of them are Unknown already."""
    changed = []
    for kind in KUBELET_CONDITIONS:
        known = condition(node, kind)
        if known is not None and known["status"] == "Unknown":
            continue
        reason, message = STOPPED if known is not None else NEVER
        heartbeat = node["metadata"].get("creationTimestamp") if known is None else known.get("lastHeartbeatTime")
        changed.append(
            {"type": kind, "status": "Unknown", "reason": reason, "message": message, "lastTransitionTime": timestamp}
            | ({"lastHeartbeatTime": heartbeat} if heartbeat else {})
        )
    return changed
