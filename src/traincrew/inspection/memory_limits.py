"""Replicas that use more memory than their limits, on nodes that do not enforce them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from traincrew.apimachinery import byte_sizes, quantities
from traincrew.diagnosis.hang import ReplicaActivity
from traincrew.inspection import measured_usage
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import objects

MAX_LINES = 4
_ONE_UNIT = {"MiB": ".0f"}
"""Usage and limit are compared: two numbers of GiB would often look the same."""


def used(job: ObservedJob, pod: objects.Pod, metrics: Mapping[str, Any] | None) -> int | None:
    """Bytes of the main container, from the PodMetrics. None: not measured."""
    measured = {each.get("name"): each["usage"] for each in (metrics or {}).get("containers") or ()}
    found = measured.get(job.training_container(pod))
    return measured_usage.parse_usage(found).memory if found is not None else None


def limit(job: ObservedJob, pod: objects.Pod, role: str) -> int | None:
    """Bytes, from the template of the role. None: it has no limit."""
    spec = job.job.roles.get(role)
    containers = {each.get("name"): each for each in (spec.containers if spec is not None else ())}
    resources = containers.get(job.training_container(pod), {}).get("resources") or {}
    text = str((resources.get("limits") or {}).get("memory", ""))
    return quantities.value(text) if quantities.is_quantity(text) else None


def exceeded(activities: Sequence[ReplicaActivity]) -> list[str]:
    """A sentence without a full stop for each of them, those that exceed their limits most first."""
    over = [(each.memory - each.memory_limit, each) for each in activities if each.memory and each.memory_limit]
    over = sorted((pair for pair in over if pair[0] > 0), key=lambda pair: -pair[0])
    lines = [_sentence(each) for _, each in over[:MAX_LINES]]
    rest = len(over) - len(lines)
    more = [f"so does {rest} other replica" if rest == 1 else f"so do {rest} other replicas"] if rest else []
    return [*lines, *more]


def _sentence(activity: ReplicaActivity) -> str:
    used, limit = (byte_sizes.text(value or 0, _ONE_UNIT) for value in (activity.memory, activity.memory_limit))
    return f"{activity.replica} uses {used} of memory, more than its limit of {limit}, which is not enforced"
