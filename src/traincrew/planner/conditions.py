"""The list of conditions: one entry per type, the latest change last, which `kubectl get` shows as STATE."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from traincrew.model.meta import Time
from traincrew.model.status import Condition

_EXCLUSIVE = {"Running": "Restarting", "Restarting": "Running"}
_TERMINAL = ("Succeeded", "Failed")


def find(conditions: Sequence[Condition], type: str) -> Condition | None:
    return next((entry for entry in conditions if entry.type == type), None)


def put(conditions: list[Condition], entry: Condition, now: Time) -> list[Condition]:
    """The list with this entry set. The same list if nothing changes or the job is finished."""
    if any(known.type in _TERMINAL and known.status == "True" for known in conditions):
        return conditions
    before = find(conditions, entry.type)
    if before is not None and (before.status, before.reason) == (entry.status, entry.reason):
        return conditions
    same = before is not None and before.status == entry.status
    stamped = msgspec.structs.replace(
        entry,
        last_update_time=now,
        last_transition_time=before.last_transition_time if same and before else now,
    )
    return [*_others(conditions, stamped), stamped]


def _others(conditions: list[Condition], entry: Condition) -> list[Condition]:
    kept = [known for known in conditions if known.type != entry.type]
    if entry.type in _EXCLUSIVE and entry.status == "True":
        kept = [known for known in kept if known.type != _EXCLUSIVE[entry.type]]
    if entry.type in _TERMINAL or (entry.type == "Suspended" and entry.status == "True"):
        kept = [known for known in kept if known.type != "Restarting"]
    if entry.type in _TERMINAL:
        # The entry keeps its reason, message and times, so that the running time of the job stays known.
        kept = [msgspec.structs.replace(known, status="False") if known.type == "Running" else known for known in kept]
    return kept
