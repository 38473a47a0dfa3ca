"""A job that should be running: its start, its losses, its limits, its end."""

from __future__ import annotations

import dataclasses

import msgspec

from traincrew.kinds.kind import Outcome
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Condition, Failure, JobStatus
from traincrew.planner import clock, desired, events, gang, host_ports, progress, restarts, run_policy, scale_down, waiting_reason
from traincrew.planner.actions import Action, Plan
from traincrew.planner.losses import Loss
from traincrew.planner.replicas import Replicas
from traincrew.planner.restarts import Accounting

Stages = tuple[tuple[Action, ...], ...]


def run(replicas: Replicas, now: Time) -> Plan:
    status = _started(replicas, clock.whole(now))
    status, reckoning = _reckoned(replicas, status, now)
    status = host_ports.record_allocation(replicas, _judged(replicas, status, reckoning, now))
    if status.finished:
        return _ending(replicas, status, reckoning, now)
    stages, farewell = _work(replicas, status, now)
    found, moments = waiting_reason.find(replicas, status, now)
    if found is not None or not any(stages):
        # While there is work under way it may yet meet the same obstacle: a restarted operator does not know of refusals.
        status = msgspec.structs.replace(status, why=found)
    moments += [farewell, run_policy.deadline(replicas, status), status.restarts.retry_at if _waiting(status, now) else None]
    plan = build_plan(replicas, status, stages, clock.earliest(moments))
    told = events.exit_codes(replicas.job, reckoning.fresh)
    if replicas.job.status.start_time is None:
        told += events.start_warnings(replicas.kind, replicas.job, replicas.observed.planning.gang_scheduler)
    return dataclasses.replace(plan, events=(*told, *plan.events))


def build_plan(replicas: Replicas, status: JobStatus, stages: Stages, moment: Time | None) -> Plan:
    """The plan that brings a job to that status by those actions."""
    before = replicas.job.status
    counts_only = before == msgspec.structs.replace(status, replica_statuses=before.replica_statuses)
    return Plan(
        status=None if _same(before, status) else status,
        stages=tuple(stage for stage in stages if stage),
        events=(*events.rendezvous_lost(replicas.kind, replicas.job, before, status), *events.condition_events(replicas.kind, before, status)),
        requeue_at=moment,
        milestones=events.milestones(before, status),
        can_be_delayed=counts_only and not any(stages),
    )


def _same(before: JobStatus, after: JobStatus) -> bool:
    """Equal but for entries of the book that nobody needs any more: forgetting them is not worth a write."""
    if set(after.restarts.entered) <= set(before.restarts.entered):
        book = msgspec.structs.replace(after.restarts, entered=before.restarts.entered)
        after = msgspec.structs.replace(after, restarts=book)
    return before == after


def watch_only(replicas: Replicas, reason: str, message: str, now: Time) -> Plan:
    """The job's own progress is followed, but nothing is made or removed."""
    status = progress.count_pods(replicas, replicas.job.status)
    end = progress.outcome(replicas)
    if end is not None:
        return build_plan(replicas, _ended(replicas, status, end, now), (), None)
    if progress.is_running(replicas):
        status = progress.with_condition(status, progress.condition(replicas.kind, replicas.job, "Running"), clock.whole(now))
    status = msgspec.structs.replace(status, why=waiting_reason.with_since(status.why, reason, message, now))
    return build_plan(replicas, status, (), None)


def _started(replicas: Replicas, now: Time) -> JobStatus:
    """Created, and if it was suspended, resumed."""
    kind, job = replicas.kind, replicas.job
    status = progress.initial_status(kind, job, now)
    if status.is_true("Suspended"):
        entry = progress.condition(kind, job, "Suspended", "False", say="resumed", reason=f"{kind.kind}Resumed")
        status = progress.with_condition(status, entry, now)
        return msgspec.structs.replace(status, start_time=now)
    return status if status.start_time is not None else msgspec.structs.replace(status, start_time=now)


def _reckoned(replicas: Replicas, status: JobStatus, now: Time) -> tuple[JobStatus, Accounting]:
    reckoning = restarts.account(replicas, status, now)
    status = progress.count_pods(replicas, status)
    status = msgspec.structs.replace(status, restarts=reckoning.book)
    if status.failure is None:
        status = msgspec.structs.replace(status, failure=_first_failure(reckoning))
    latest = reckoning.cause or next(iter(reckoning.seen[-1:]), None)
    if latest is not None and _is_news(latest, status, fresh=reckoning.cause is not None):
        status = msgspec.structs.replace(status, last_failure=latest)
    return status, reckoning


def _first_failure(reckoning: Accounting) -> Failure | None:
    """A pod that was taken away has not failed."""
    if reckoning.cause is not None and not reckoning.cause.disruption:
        return reckoning.cause
    return next(iter(reckoning.seen), None)


def _is_news(latest: Failure, status: JobStatus, fresh: bool) -> bool:
    known = status.last_failure or status.failure
    if known is None or fresh:
        return latest != status.failure
    if (latest.uid, latest.time) == (known.uid, known.time) or latest.time is None or known.time is None:
        return False
    return latest.time >= known.time


def _judged(replicas: Replicas, status: JobStatus, reckoning: Accounting, now: Time) -> JobStatus:
    """Conditions: an end if there is one, success before failure, else whether it runs or restarts."""
    kind, job, stamp = replicas.kind, replicas.job, clock.whole(now)
    end = progress.outcome(replicas)
    if end is not None:
        return _ended(replicas, status, end, now)
    if reckoning.fatal is not None:
        return progress.finish(replicas, status, _failed(replicas, reckoning.fatal, status), "Replica", stamp)
    if run_policy.over_limit(replicas, status.restarts):
        entry = progress.condition(kind, job, "Failed", say="backoff")
        return progress.finish(replicas, status, entry, "BackoffLimit", stamp)
    limit = run_policy.deadline(replicas, status)
    if limit is not None and now >= limit:
        entry = progress.condition(kind, job, "Failed", say="deadline")
        return progress.finish(replicas, status, entry, "Deadline", stamp)
    return _going(replicas, status, reckoning, stamp)


def _ended(replicas: Replicas, status: JobStatus, end: Outcome, now: Time) -> JobStatus:
    stamp = clock.whole(now)
    if end.succeeded:
        entry, by = progress.condition(replicas.kind, replicas.job, "Succeeded"), "Success"
    else:
        entry, by = Condition(type="Failed", status="True", reason=end.reason, message=end.message), "Replica"
    return msgspec.structs.replace(progress.finish(replicas, status, entry, by, stamp), completion_time=end.time or stamp)


def _failed(replicas: Replicas, fatal: Loss, status: JobStatus) -> Condition:
    role = fatal.replica.role.name
    if fatal.verdict(replicas.kind) == "fail-permanently":
        return progress.condition(replicas.kind, replicas.job, "Failed", say="permanent", role=role)
    count = max(status.replica_statuses[role].failed, 1)
    return progress.condition(replicas.kind, replicas.job, "Failed", role=role, count=count)


def _going(replicas: Replicas, status: JobStatus, reckoning: Accounting, now: Time) -> JobStatus:
    lost = _lost_role(replicas, reckoning)
    # A job that runs again goes on running while it is scaled up, even if the book is not closed yet.
    pending = bool(reckoning.fresh) or not status.is_true("Running")
    if reckoning.book.open and pending and lost is not None:
        entry = progress.condition(replicas.kind, replicas.job, "Restarting", role=lost)
        return progress.with_condition(status, entry, now)
    if progress.is_running(replicas):
        return progress.with_condition(status, progress.condition(replicas.kind, replicas.job, "Running"), now)
    return status


def _lost_role(replicas: Replicas, reckoning: Accounting) -> str | None:
    """The role of which a pod is on its way to be replaced: that of the cause, else of the first that is missing."""
    missing = [
        slot.replica.role.name
        for slot in replicas.slots
        if not slot.alive and (slot.pod is None or slot.pod.metadata.uid not in reckoning.tolerated)
    ]
    fresh = [loss.replica.role.name for loss in reckoning.fresh]
    return next(iter(fresh + missing), None) if missing else None


def _ending(replicas: Replicas, status: JobStatus, reckoning: Accounting, now: Time) -> Plan:
    """The pass in which a job ends also puts away; if it is cut short, the next one does the same."""
    actions, moment = run_policy.clean_up(replicas, status, now)
    stages = (tuple(actions + desired.delete_unwanted_dependents(replicas)),)
    expiry = run_policy.expiry(replicas, status)
    plan = build_plan(replicas, status, stages, clock.earliest((moment, expiry)))
    return dataclasses.replace(plan, events=(*events.exit_codes(replicas.job, reckoning.fresh), *plan.events))


def _waiting(status: JobStatus, now: Time) -> bool:
    return status.restarts.retry_at is not None and now < status.restarts.retry_at


def _work(replicas: Replicas, status: JobStatus, now: Time) -> tuple[Stages, Time | None]:
    """Objects to make and to remove, and when one that is leaving has had its time.

    What a launcher reads is mended before a worker goes, so that it leaves the list first.
    """
    first, made, transient = desired.dependents(replicas)
    entered = frozenset(status.restarts.entered)
    replaced = [slot.pod for slot in replicas.slots if slot.pod is not None and _replaceable(slot.pod, entered)]
    strays, moment = scale_down.remove_surplus(replicas, now)
    gone = strays + desired.delete_pods(replaced) + desired.delete_surplus_services(replicas) + transient
    held = gang.awaits_admission(replicas) or _waiting(status, now)
    early, created = desired.create_pods_and_services(replicas, () if held else [slot.replica for slot in replicas.slots if slot.pod is None])
    created = scale_down.mark_replacements(replicas, status, created)
    asks = waiting_reason.event_queries(replicas, now)
    return (tuple(first), (*made, *early), tuple(desired.refresh_mounted_files(replicas)), (*gone, *created, *asks)), moment


def _replaceable(pod: objects.Pod, entered: frozenset[str]) -> bool:
    return pod.metadata.uid in entered and pod.status.phase == "Failed"
