"""The status of a PodDisruptionBudget. PURE."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from traincrew.apimachinery import disruption_budgets, times
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.pods import Pod

DELETION = dt.timedelta(minutes=2)
"""Time after a granted eviction at which a pod that still exists is counted again."""
COUNTS = ("currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed")


class ExpectedPods(NamedTuple):
    expected: int
    desired: int


class BudgetDecision(NamedTuple):
    status: Object
    again: dt.datetime | None
    """Time at which the next evicted pod that still exists is counted again."""
    overdue: tuple[Pod, ...]


def needs_scale(spec: Object) -> bool:
    """Whether the budget is relative to the scale of the pods' owners."""
    return "maxUnavailable" in spec or isinstance(spec.get("minAvailable"), str)


def expected_pods(spec: Object, pods: int, scale: int) -> ExpectedPods:
    """scale: the total replicas of the pods' owners."""
    if "maxUnavailable" in spec:
        return ExpectedPods(scale, max(scale - _share(spec["maxUnavailable"], scale), 0))
    if "minAvailable" not in spec:
        return ExpectedPods(0, 0)
    least = spec["minAvailable"]
    return ExpectedPods(pods, least) if isinstance(least, int) else ExpectedPods(scale, _share(least, scale))


def _share(value: int | str, total: int) -> int:
    return value if isinstance(value, int) else math.ceil(int(value.removesuffix("%")) * total / 100)


def budget_status(budget: Object, pods: Sequence[Pod], counts: ExpectedPods, now: dt.datetime) -> BudgetDecision:
    granted = {name: times.parse(text) for name, text in (budget.get("status", {}).get("disruptedPods") or {}).items()}
    awaited = {pod.metadata.name: granted[pod.metadata.name] for pod in pods if not pod.deleted and pod.metadata.name in granted}
    overdue = tuple(pod for pod in pods if pod.metadata.name in awaited and awaited[pod.metadata.name] + DELETION < now)
    left = {name: moment for name, moment in awaited.items() if moment + DELETION >= now}
    healthy = sum(pod.ready and not pod.deleted and pod.metadata.name not in left for pod in pods)
    again = min(left.values()) + DELETION if left else None
    return BudgetDecision(_status(budget, healthy, counts, left, times.rfc3339(now)), again, overdue)


def _status(budget: Object, healthy: int, counts: ExpectedPods, awaited: Mapping[str, dt.datetime], now: str) -> Object:
    allowed = max(healthy - counts.desired, 0) if counts.expected > 0 else 0
    status: Object = dict(zip(COUNTS, (healthy, counts.desired, counts.expected, allowed), strict=True))
    status["observedGeneration"] = budget["metadata"].get("generation", 0)
    if awaited:
        status["disruptedPods"] = {name: times.rfc3339(moment) for name, moment in awaited.items()}
    before = budget.get("status", {}).get("conditions") or []
    return status | {"conditions": disruption_budgets.conditions({**status, "conditions": before}, now)}


def failed(budget: Object, why: str, now: dt.datetime) -> Object:
    """No disruption is allowed while the expected number of pods is unknown."""
    status: Object = {**budget.get("status", {}), "disruptionsAllowed": 0}
    return status | {"conditions": disruption_budgets.sync_failed_conditions(status, why, times.rfc3339(now))}
