"""The conditions of a job that is not suspended: Created, Running, Restarting, Succeeded, Failed."""

from __future__ import annotations

import msgspec

from traincrew.model.meta import Time
from traincrew.model.status import Condition, JobStatus
from traincrew.planner import (
    deadlines,
    progress,
    run_policy,
)
from traincrew.planner.delegated_role import DelegatedOutcome
from traincrew.planner.losses import Loss
from traincrew.planner.replicas import Replicas
from traincrew.planner.restarts import Accounting


def with_conditions(replicas: Replicas, status: JobStatus, accounting: Accounting, now: Time) -> JobStatus:
    """The status with its conditions: a terminal one (success before failure), else Running or Restarting."""
    kind, job, stamp = replicas.kind, replicas.job, deadlines.whole(now)
    outcome = progress.outcome(replicas)
    if outcome is not None:
        return _finished(replicas, status, outcome, now)
    if accounting.fatal is not None:
        return progress.finish(replicas, status, _failed(replicas, accounting.fatal, status), "Replica", stamp)
    if run_policy.backoff_limit_exceeded(replicas, status.restarts):
        entry = progress.condition(kind, job, "Failed", say="backoff")
        return progress.finish(replicas, _without_last_restart(status, accounting), entry, "BackoffLimit", stamp)
    deadline = run_policy.deadline(replicas, status)
    if deadline is not None and now >= deadline:
        entry = progress.condition(kind, job, "Failed", say="deadline")
        return progress.finish(replicas, status, entry, "Deadline", stamp)
    return _running_or_restarting(replicas, status, accounting, stamp)


def _without_last_restart(status: JobStatus, accounting: Accounting) -> JobStatus:
    """The loss that exceeds the limit is charged, but its pod is not replaced."""
    if accounting.cause is None or accounting.cause.disruption:
        return status
    counts = msgspec.structs.replace(status.restarts, charged=status.restarts.charged - 1)
    return msgspec.structs.replace(status, restarts=counts)


def _finished(replicas: Replicas, status: JobStatus, outcome: DelegatedOutcome, now: Time) -> JobStatus:
    stamp = deadlines.whole(now)
    if outcome.succeeded:
        entry, by = progress.condition(replicas.kind, replicas.job, "Succeeded"), "Success"
    else:
        entry, by = Condition(type="Failed", status="True", reason=outcome.reason, message=outcome.message), "Replica"
    return msgspec.structs.replace(progress.finish(replicas, status, entry, by, stamp), completion_time=outcome.time or stamp)


def _failed(replicas: Replicas, fatal: Loss, status: JobStatus) -> Condition:
    role = fatal.replica.role.name
    if fatal.verdict(replicas.kind) == "fail-permanently":
        return progress.condition(replicas.kind, replicas.job, "Failed", say="permanent", role=role)
    count = max(status.replica_statuses[role].failed, 1)
    return progress.condition(replicas.kind, replicas.job, "Failed", role=role, count=count)


def _running_or_restarting(replicas: Replicas, status: JobStatus, accounting: Accounting, now: Time) -> JobStatus:
    lost = _lost_role(replicas, accounting)
    # A job that runs again stays Running while it is scaled up, even if not all replicas have run since the loss.
    pending = bool(accounting.new_losses) or not status.is_true("Running")
    if accounting.restarts.open and pending and lost is not None:
        entry = progress.condition(replicas.kind, replicas.job, "Restarting", role=lost)
        return progress.with_condition(status, entry, now)
    if progress.is_running(replicas):
        return progress.with_condition(status, progress.condition(replicas.kind, replicas.job, "Running"), now)
    return status


def _lost_role(replicas: Replicas, accounting: Accounting) -> str | None:
    """The role whose pod is being replaced: that of the first new loss, else that of the first missing pod."""
    missing = [
        slot.replica.role.name
        for slot in replicas.slots
        if not slot.alive and (slot.pod is None or slot.pod.metadata.uid not in accounting.tolerated)
    ]
    lost = [loss.replica.role.name for loss in accounting.new_losses]
    return next(iter(lost + missing), None) if missing else None
