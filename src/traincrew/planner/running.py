"""The plan of a job that is neither finished, invalid nor suspended: start, losses, limits and end."""

from __future__ import annotations

import dataclasses

import msgspec

from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Condition, Failure, JobStatus
from traincrew.planner import (
    clock,
    consequences,
    delegated_role,
    dependents,
    elastic_members,
    events,
    first_failures,
    gang,
    host_ports,
    mounted_files,
    name_conflicts,
    pods_and_services,
    progress,
    restarts,
    run_policy,
    scale_down,
    waiting_reason,
    worker_seconds,
)
from traincrew.planner.actions import Action, JobEvent, Plan
from traincrew.planner.delegated_role import DelegatedOutcome
from traincrew.planner.losses import Loss
from traincrew.planner.replicas import Replicas
from traincrew.planner.restarts import Accounting

Stages = tuple[tuple[Action, ...], ...]


def run(replicas: Replicas, now: Time) -> Plan:
    status = name_conflicts.record(replicas, _started(replicas, clock.whole(now)))
    status, accounting = _account_for_losses(replicas, status, now)
    status = host_ports.record_allocation(replicas, _with_conditions(replicas, status, accounting, now))
    if status.finished:
        return _finish(replicas, status, accounting, now)
    status = elastic_members.record(replicas, status, now)
    stages, drain_end = _actions(replicas, status, now)
    why, times = waiting_reason.find(replicas, status, now)
    if accounting.held is not None:
        why = waiting_reason.with_since(status.why, consequences.NODE_MAY_BE_LOST, accounting.held.message, now)
        times.append(accounting.held.until)
    if why is not None or not any(stages):
        # An old reason stays while actions are pending: a restarted operator has not yet seen the rejected requests again.
        status = msgspec.structs.replace(status, why=why)
    status = worker_seconds.record(replicas, status, now)
    times += [drain_end, run_policy.deadline(replicas, status), status.restarts.retry_at if _backing_off(status, now) else None]
    plan = build_plan(replicas, status, stages, clock.earliest(times))
    job_events = [*events.exit_codes(replicas.job, accounting.new_losses), *events.evicted(elastic_members.evicted(replicas))]
    if replicas.job.status.start_time is None:
        job_events += events.start_warnings(replicas.kind, replicas.job, replicas.observed.planning.gang_scheduler)
    return dataclasses.replace(plan, events=(*job_events, *plan.events))


def build_plan(replicas: Replicas, status: JobStatus, stages: Stages, requeue_at: Time | None) -> Plan:
    """The plan that executes these actions and leads to this status."""
    before = replicas.job.status
    counts_only = before == msgspec.structs.replace(
        status, replica_statuses=before.replica_statuses, worker_seconds=before.worker_seconds
    )
    return Plan(
        status=None if _same(before, status) else status,
        stages=tuple(stage for stage in stages if stage),
        events=(
            *events.rendezvous_lost(replicas.kind, replicas.job, before, status),
            *_unseen_running(replicas, before, status),
            *events.condition_events(replicas.kind, before, status),
            *events.resized(before, status),
        ),
        requeue_at=requeue_at,
        milestones=events.milestones(before, status),
        can_be_delayed=counts_only and not any(stages),
    )


def _unseen_running(replicas: Replicas, before: JobStatus, after: JobStatus) -> list[JobEvent]:
    """The event of the Running condition, for a job whose launcher ran and ended between two plans."""
    roles = [role.name for role in replicas.kind.roles if role.delegated]
    if "Running" not in replicas.kind.reporting.event_conditions or not roles:
        return []
    seen = before.is_true("Running") or after.is_true("Running")
    if seen or _ended(before, roles) >= _ended(after, roles) or not delegated_role.has_run(replicas):
        return []
    entry = progress.condition(replicas.kind, replicas.job, "Running")
    return [JobEvent("Normal", entry.reason, entry.message, key=str(after.start_time))]


def _ended(status: JobStatus, roles: list[str]) -> int:
    """The number of ended pods of these roles."""
    return sum(counts.failed + counts.succeeded for role, counts in status.replica_statuses.items() if role in roles)


def _same(before: JobStatus, after: JobStatus) -> bool:
    """Equal except for recorded UIDs that are no longer needed: their removal is not worth a write."""
    if set(after.restarts.entered) <= set(before.restarts.entered):
        restarts = msgspec.structs.replace(after.restarts, entered=before.restarts.entered)
        after = msgspec.structs.replace(after, restarts=restarts)
    return before == after


def status_only(replicas: Replicas, reason: str, message: str, now: Time) -> Plan:
    """Update the status, but create and delete nothing."""
    status = progress.count_pods(replicas, replicas.job.status)
    outcome = progress.outcome(replicas)
    if outcome is not None:
        return build_plan(replicas, _finished(replicas, status, outcome, now), (), None)
    if progress.is_running(replicas):
        status = progress.with_condition(status, progress.condition(replicas.kind, replicas.job, "Running"), clock.whole(now))
    status = msgspec.structs.replace(status, why=waiting_reason.with_since(status.why, reason, message, now))
    return build_plan(replicas, status, (), None)


def _started(replicas: Replicas, now: Time) -> JobStatus:
    """Created, and resumed if it was suspended."""
    kind, job = replicas.kind, replicas.job
    status = progress.initial_status(kind, job, now)
    if status.is_true("Suspended"):
        entry = progress.condition(kind, job, "Suspended", "False", say="resumed", reason=f"{kind.kind}Resumed")
        status = progress.with_condition(status, entry, now)
        return msgspec.structs.replace(status, start_time=now)
    return status if status.start_time is not None else msgspec.structs.replace(status, start_time=now)


def _account_for_losses(replicas: Replicas, status: JobStatus, now: Time) -> tuple[JobStatus, Accounting]:
    accounting = restarts.account(replicas, status, now)
    status = progress.count_pods(replicas, status)
    status = msgspec.structs.replace(status, restarts=accounting.restarts)
    status = msgspec.structs.replace(status, failure=_first_failure(status.failure, accounting))
    latest = accounting.cause or _latest(accounting.failures)
    if latest is not None and _is_new(latest, status, is_cause=accounting.cause is not None):
        status = msgspec.structs.replace(status, last_failure=latest)
    return status, accounting


def _first_failure(recorded: Failure | None, accounting: Accounting) -> Failure | None:
    """The recorded one, unless its cause is seen only now. A disruption is not a failure."""
    if recorded is None:
        own_cause = accounting.cause is not None and not accounting.cause.disruption
        recorded = accounting.cause if own_cause else next(iter(accounting.failures), None)
    return first_failures.cause_of(recorded, accounting.observed) if recorded is not None else None


def _latest(failures: tuple[Failure, ...]) -> Failure | None:
    return first_failures.cause_of(failures[-1], failures) if failures else None


def _is_new(latest: Failure, status: JobStatus, *, is_cause: bool) -> bool:
    known = status.last_failure or status.failure
    if known is None or is_cause:
        return latest != status.failure
    if (latest.uid, latest.time) == (known.uid, known.time) or latest.time is None or known.time is None:
        return False
    return latest.time >= known.time


def _with_conditions(replicas: Replicas, status: JobStatus, accounting: Accounting, now: Time) -> JobStatus:
    """The status with its conditions: a terminal one (success before failure), else Running or Restarting."""
    kind, job, stamp = replicas.kind, replicas.job, clock.whole(now)
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
    stamp = clock.whole(now)
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


def _finish(replicas: Replicas, status: JobStatus, accounting: Accounting, now: Time) -> Plan:
    """The reconcile in which a job ends also cleans up. If it is interrupted, the next one repeats the clean-up."""
    status = worker_seconds.record(replicas, status, now)
    actions, next_clean_up = run_policy.clean_up(replicas, status, now)
    stages = (tuple(actions + dependents.delete_unwanted(replicas)),)
    expiry = run_policy.expiry(replicas, status)
    plan = build_plan(replicas, status, stages, clock.earliest((next_clean_up, expiry)))
    return dataclasses.replace(plan, events=(*events.exit_codes(replicas.job, accounting.new_losses), *plan.events))


def _backing_off(status: JobStatus, now: Time) -> bool:
    return status.restarts.retry_at is not None and now < status.restarts.retry_at


def _actions(replicas: Replicas, status: JobStatus, now: Time) -> tuple[Stages, Time | None]:
    """Objects to create and to delete, and when the next drain ends.

    The host list of the launcher is updated before a worker is deleted.
    """
    first, updated, unwanted = dependents.reconcile(replicas)
    entered = frozenset(status.restarts.entered)
    replaced = [slot.pod for slot in replicas.slots if slot.pod is not None and _replaceable(slot.pod, entered)]
    surplus, drain_end = scale_down.remove_surplus(replicas, now)
    services = pods_and_services.delete_surplus_services(replicas, scale_down.kept_surplus(replicas, surplus))
    evicted = [pod for pod, _ in elastic_members.evicted(replicas)]
    deleted = surplus + pods_and_services.delete_pods([*replaced, *evicted]) + services + unwanted
    held_back = gang.awaits_admission(replicas) or _backing_off(status, now)
    missing = [] if held_back else [slot.replica for slot in replicas.slots if slot.pod is None]
    needed_services, created = pods_and_services.create(replicas, missing)
    created = scale_down.mark_replacements(replicas, status, created)
    queries = waiting_reason.event_queries(replicas, now)
    refreshed = tuple(mounted_files.refresh(replicas))
    return (tuple(first), (*updated, *needed_services), refreshed, (*deleted, *created, *queries)), drain_end


def _replaceable(pod: objects.Pod, entered: frozenset[str]) -> bool:
    """A pod on a lost node is recorded only if others failed because of it: it cannot rejoin them."""
    return pod.metadata.uid in entered and (pod.status.phase == "Failed" or (pod.active and pod.node_lost))
