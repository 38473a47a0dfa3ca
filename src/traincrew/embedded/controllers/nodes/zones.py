"""How fast the pods of lost nodes may be evicted: many lost nodes are more likely a fault of the network. PURE."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from traincrew.apimachinery.unstructured import Object

NORMAL_PERIOD, REDUCED_PERIOD = 10.0, 100.0
"""Seconds between two nodes of a zone whose pods are evicted."""
UNHEALTHY_THRESHOLD = 0.55
LARGE_ZONE = 50
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"


class Disruption(enum.Enum):
    NORMAL = enum.auto()
    PARTIAL = enum.auto()
    FULL = enum.auto()
    """No node is ready."""


def zone_of(node: Object) -> tuple[str, str]:
    labels = node["metadata"].get("labels") or {}
    return labels.get(REGION, ""), labels.get(ZONE, "")


def disruption(ready: Sequence[bool]) -> Disruption:
    """ready: of each node of a zone."""
    lost = len(ready) - sum(ready)
    if lost == len(ready) and lost > 0:
        return Disruption.FULL
    return Disruption.PARTIAL if lost > 2 and lost / len(ready) >= UNHEALTHY_THRESHOLD else Disruption.NORMAL


def eviction_period(state: Disruption, size: int) -> float | None:
    """Seconds between two nodes; None: none is tainted. Not for a cluster all of whose zones are fully disrupted."""
    if state is Disruption.PARTIAL:
        return REDUCED_PERIOD if size > LARGE_ZONE else None
    return NORMAL_PERIOD
