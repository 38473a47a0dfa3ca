"""What a disruption budget says of itself; the API server and the budget's controller say it alike."""

from __future__ import annotations

from traincrew.apimachinery.resource_info import Object

ALLOWED = "DisruptionAllowed"


def conditions(status: Object, now: str) -> list[Object]:
    """Whether a pod may go just now, beside whatever else is told there."""
    allowed = status.get("disruptionsAllowed", 0) > 0
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return _with_condition(status, {"status": "True" if allowed else "False", "reason": reason, "message": ""}, now)


def sync_failed_conditions(status: Object, why: str, now: str) -> list[Object]:
    return _with_condition(status, {"status": "False", "reason": "SyncFailed", "message": why}, now)


def _with_condition(status: Object, said: Object, now: str) -> list[Object]:
    generation = {"observedGeneration": status["observedGeneration"]} if status.get("observedGeneration") else {}
    before = list(status.get("conditions") or ())
    at = next((index for index, each in enumerate(before) if each["type"] == ALLOWED), len(before))
    old = before[at] if at < len(before) else {}
    since = old["lastTransitionTime"] if old.get("status") == said["status"] else now
    before[at : at + 1] = [{"type": ALLOWED, **said, **generation, "lastTransitionTime": since}]
    return before
