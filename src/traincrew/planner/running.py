"""The plan of a job that is neither finished, invalid nor suspended: start, losses, limits and end."""

from __future__ import annotations

import dataclasses

import msgspec

from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Failure, JobStatus
from traincrew.planner import (
    consequences,
    deadlines,
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
    resize_notices,
    restarts,
    run_policy,
    running_conditions,
    scale_down,
    waiting_reason,
    worker_seconds,
)
from traincrew.planner.actions import Action, JobEvent, Plan
from traincrew.planner.replicas import Replicas
from traincrew.planner.restarts import Accounting

Stages = tuple[tuple[Action, ...], ...]


def run(replicas: Replicas, now: Time) -> Plan:
    status = name_conflicts.record(replicas, _started(replicas, deadlines.whole(now)))
    status, accounting = _account_for_losses(replicas, status, now)
    status = host_ports.record_allocation(replicas, running_conditions.with_conditions(replicas, status, accounting, now))
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
    plan = build_plan(replicas, status, stages, deadlines.earliest(times))
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
    number_on_nodes = worker_seconds.number_on_nodes(status)
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
        can_be_delayed=counts_only and not any(stages) and worker_seconds.number_on_nodes(before) == number_on_nodes,
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
        return build_plan(replicas, running_conditions._finished(replicas, status, outcome, now), (), None)
    if progress.is_running(replicas):
        status = progress.with_condition(status, progress.condition(replicas.kind, replicas.job, "Running"), deadlines.whole(now))
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
    recorded = (status.failure, status.last_failure)
    first, last = (first_failures.with_victims(each, accounting.observed) for each in recorded)
    return msgspec.structs.replace(status, failure=first, last_failure=last), accounting


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
        return not first_failures.is_same(latest, status.failure)
    if (latest.uid, latest.time) == (known.uid, known.time) or latest.time is None or known.time is None:
        return False
    return latest.time >= known.time


def _finish(replicas: Replicas, status: JobStatus, accounting: Accounting, now: Time) -> Plan:
    """The reconcile in which a job ends also cleans up. If it is interrupted, the next one repeats the clean-up."""
    status = worker_seconds.record(replicas, status, now)
    actions, next_clean_up = run_policy.clean_up(replicas, status, now)
    stages = (tuple(actions + dependents.delete_unwanted(replicas)),)
    expiry = run_policy.expiry(replicas, status)
    plan = build_plan(replicas, status, stages, deadlines.earliest((next_clean_up, expiry)))
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
    notice = resize_notices.current(replicas, now)
    deadline = resize_notices.deadline(notice, now)
    excess, drain_end = scale_down.remove_excess(replicas, deadline, now)
    services = pods_and_services.delete_excess_services(replicas, scale_down.kept_excess(replicas, excess))
    evicted = [pod for pod, _ in elastic_members.evicted(replicas)] if deadline is None else []
    deleted = excess + pods_and_services.delete_pods([*replaced, *evicted]) + services + unwanted
    held_back = gang.awaits_admission(replicas) or _backing_off(status, now)
    missing = [] if held_back else [slot.replica for slot in replicas.slots if slot.pod is None]
    needed_services, created = pods_and_services.create(replicas, missing)
    created = scale_down.mark_replacements(replicas, status, created)
    queries = waiting_reason.event_queries(replicas, now)
    refreshed = (*mounted_files.refresh(replicas), *resize_notices.write(replicas, notice))
    return (tuple(first), (*updated, *needed_services), refreshed, (*deleted, *created, *queries)), deadlines.earliest(
        (drain_end, deadline)
    )


def _replaceable(pod: objects.Pod, entered: frozenset[str]) -> bool:
    """A pod on a lost node is recorded only if others failed because of it: it cannot rejoin them."""
    return pod.metadata.uid in entered and (pod.status.phase == "Failed" or (pod.active and pod.node_lost))
