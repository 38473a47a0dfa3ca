"""CPU and memory of nodes and pods, from the objects of metrics.k8s.io."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from traincrew.apimachinery import quantities


@dataclasses.dataclass(frozen=True)
class MeasuredUsage:
    cpu: float
    """Cores."""
    memory: int
    """Bytes."""


def parse_usage(usage: Mapping[str, str]) -> MeasuredUsage:
    return MeasuredUsage(quantities.nanos(usage.get("cpu", "0")) / 1e9, quantities.value(usage.get("memory", "0")))


def pod_usage(metrics: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], MeasuredUsage]:
    """From PodMetrics."""
    found = {}
    for each in metrics:
        containers = [parse_usage(container["usage"]) for container in each.get("containers") or ()]
        key = (each["metadata"].get("namespace", ""), each["metadata"]["name"])
        found[key] = MeasuredUsage(sum(used.cpu for used in containers), sum(used.memory for used in containers))
    return found
