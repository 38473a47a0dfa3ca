"""What changed between two states of a job."""

from __future__ import annotations

from typing import Any

from traincrew.console.contract.job_detail import JobDetail, JobPatch
from traincrew.console.contract.replicas import Replica

_WHOLE = (
    "summary", "roles", "more_replicas", "diagnosis", "conditions", "restarts", "elastic", "actions", "terminal", "annotations",
)  # fmt: skip
"""Fields that are sent as a whole if they differ."""


def diff(old: JobDetail, new: JobDetail) -> JobPatch | None:
    """None: nothing changed."""
    changes: dict[str, Any] = {name: getattr(new, name) for name in _WHOLE if getattr(old, name) != getattr(new, name)}
    before = {_identity(each): each for each in old.replicas}
    if replicas := [each for each in new.replicas if before.get(_identity(each)) != each]:
        changes["replicas"] = replicas
    if removed := sorted({each.name for each in old.replicas} - {each.name for each in new.replicas}):
        changes["removed_replicas"] = removed
    lines = {each.replica: each for each in old.timeline}
    if timeline := [each for each in new.timeline if lines.get(each.replica) != each]:
        changes["timeline"] = timeline
    known = {each.uid: each for each in old.events}
    if events := [each for each in new.events if known.get(each.uid) != each]:
        changes["events"] = events
    return JobPatch(**changes) if changes else None


def _identity(replica: Replica) -> tuple[str, str]:
    return replica.name, replica.uid
