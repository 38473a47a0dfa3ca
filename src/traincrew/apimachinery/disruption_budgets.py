"""The DisruptionAllowed condition of a PodDisruptionBudget, which both the API server and the disruption controller set."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object

ALLOWED = "DisruptionAllowed"


def conditions(status: Object, now: str) -> list[Object]:
    """The conditions with DisruptionAllowed updated."""
    allowed = status.get("disruptionsAllowed", 0) > 0
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return _with_condition(status, {"status": "True" if allowed else "False", "reason": reason, "message": ""}, now)


def sync_failed_conditions(status: Object, why: str, now: str) -> list[Object]:
    return _with_condition(status, {"status": "False", "reason": "SyncFailed", "message": why}, now)


def _with_condition(status: Object, condition: Object, now: str) -> list[Object]:
    generation = {"observedGeneration": status["observedGeneration"]} if status.get("observedGeneration") else {}
    conditions = list(status.get("conditions") or ())
    at = next((index for index, each in enumerate(conditions) if each["type"] == ALLOWED), len(conditions))
    old = conditions[at] if at < len(conditions) else {}
    since = old["lastTransitionTime"] if old.get("status") == condition["status"] else now
    conditions[at : at + 1] = [{"type": ALLOWED, **condition, **generation, "lastTransitionTime": since}]
    return conditions
