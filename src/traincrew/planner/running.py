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


def run(crew: Replicas, now: Time) -> Plan:
    status = _started(crew, clock.whole(now))
    status, reckoning = _reckoned(crew, status, now)
    status = host_ports.kept(crew, _judged(crew, status, reckoning, now))
    if status.finished:
        return _ending(crew, status, reckoning, now)
    stages, farewell = _work(crew, status, now)
    found, moments = waiting_reason.explain(crew, status, now)
    if found is not None or not any(stages):
        # While there is work under way it may yet meet the same obstacle: a restarted operator does not know of refusals.
        status = msgspec.structs.replace(status, why=found)
    moments += [farewell, run_policy.deadline(crew, status), status.restarts.retry_at if _waiting(status, now) else None]
    plan = finish_plan(crew, status, stages, clock.earliest(moments))
    told = events.exits(crew.job, reckoning.fresh)
    if crew.job.status.start_time is None:
        told += events.overridden(crew.kind, crew.job, crew.observed.planning.gang_scheduler)
    return dataclasses.replace(plan, events=(*told, *plan.events))


def finish_plan(crew: Replicas, status: JobStatus, stages: Stages, moment: Time | None) -> Plan:
    """The plan that brings a job to that status by those actions."""
    before = crew.job.status
    counts_only = before == msgspec.structs.replace(status, replica_statuses=before.replica_statuses)
    return Plan(
        status=None if _same(before, status) else status,
        stages=tuple(stage for stage in stages if stage),
        events=(*events.parted(crew.kind, crew.job, before, status), *events.events(crew.kind, before, status)),
        look_again=moment,
        milestones=events.milestones(before, status),
        can_wait=counts_only and not any(stages),
    )


def _same(before: JobStatus, after: JobStatus) -> bool:
    """Equal but for entries of the book that nobody needs any more: forgetting them is not worth a write."""
    if set(after.restarts.entered) <= set(before.restarts.entered):
        book = msgspec.structs.replace(after.restarts, entered=before.restarts.entered)
        after = msgspec.structs.replace(after, restarts=book)
    return before == after


def watch_only(crew: Replicas, reason: str, message: str, now: Time) -> Plan:
    """The job's own progress is followed, but nothing is made or removed."""
    status = progress.counted(crew, crew.job.status)
    end = progress.ending(crew)
    if end is not None:
        return finish_plan(crew, _ended(crew, status, end, now), (), None)
    if progress.running(crew):
        status = progress.with_condition(status, progress.state(crew.kind, crew.job, "Running"), clock.whole(now))
    status = msgspec.structs.replace(status, why=waiting_reason.dated(status.why, reason, message, now))
    return finish_plan(crew, status, (), None)


def _started(crew: Replicas, now: Time) -> JobStatus:
    """Created, and if it was suspended, resumed."""
    kind, job = crew.kind, crew.job
    status = progress.begin(kind, job, now)
    if status.is_true("Suspended"):
        entry = progress.state(kind, job, "Suspended", "False", say="resumed", reason=f"{kind.kind}Resumed")
        status = progress.with_condition(status, entry, now)
        return msgspec.structs.replace(status, start_time=now)
    return status if status.start_time is not None else msgspec.structs.replace(status, start_time=now)


def _reckoned(crew: Replicas, status: JobStatus, now: Time) -> tuple[JobStatus, Accounting]:
    reckoning = restarts.account(crew, status, now)
    status = progress.counted(crew, status)
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


def _judged(crew: Replicas, status: JobStatus, reckoning: Accounting, now: Time) -> JobStatus:
    """Conditions: an end if there is one, success before failure, else whether it runs or restarts."""
    kind, job, stamp = crew.kind, crew.job, clock.whole(now)
    end = progress.ending(crew)
    if end is not None:
        return _ended(crew, status, end, now)
    if reckoning.fatal is not None:
        return progress.ended(crew, status, _failed(crew, reckoning.fatal, status), "Replica", stamp)
    if run_policy.over_limit(crew, status.restarts):
        entry = progress.state(kind, job, "Failed", say="backoff")
        return progress.ended(crew, status, entry, "BackoffLimit", stamp)
    limit = run_policy.deadline(crew, status)
    if limit is not None and now >= limit:
        entry = progress.state(kind, job, "Failed", say="deadline")
        return progress.ended(crew, status, entry, "Deadline", stamp)
    return _going(crew, status, reckoning, stamp)


def _ended(crew: Replicas, status: JobStatus, end: Outcome, now: Time) -> JobStatus:
    stamp = clock.whole(now)
    if end.succeeded:
        entry, by = progress.state(crew.kind, crew.job, "Succeeded"), "Success"
    else:
        entry, by = Condition(type="Failed", status="True", reason=end.reason, message=end.message), "Replica"
    return msgspec.structs.replace(progress.ended(crew, status, entry, by, stamp), completion_time=end.time or stamp)


def _failed(crew: Replicas, fatal: Loss, status: JobStatus) -> Condition:
    role = fatal.replica.role.name
    if fatal.verdict(crew.kind) == "fail-permanently":
        return progress.state(crew.kind, crew.job, "Failed", say="permanent", role=role)
    count = max(status.replica_statuses[role].failed, 1)
    return progress.state(crew.kind, crew.job, "Failed", role=role, count=count)


def _going(crew: Replicas, status: JobStatus, reckoning: Accounting, now: Time) -> JobStatus:
    lost = _lost_role(crew, reckoning)
    # A job that runs again goes on running while it is scaled up, even if the book is not closed yet.
    pending = bool(reckoning.fresh) or not status.is_true("Running")
    if reckoning.book.open and pending and lost is not None:
        entry = progress.state(crew.kind, crew.job, "Restarting", role=lost)
        return progress.with_condition(status, entry, now)
    if progress.running(crew):
        return progress.with_condition(status, progress.state(crew.kind, crew.job, "Running"), now)
    return status


def _lost_role(crew: Replicas, reckoning: Accounting) -> str | None:
    """The role of which a pod is on its way to be replaced: that of the cause, else of the first that is missing."""
    missing = [
        slot.replica.role.name
        for slot in crew.slots
        if not slot.alive and (slot.pod is None or slot.pod.metadata.uid not in reckoning.tolerated)
    ]
    fresh = [loss.replica.role.name for loss in reckoning.fresh]
    return next(iter(fresh + missing), None) if missing else None


def _ending(crew: Replicas, status: JobStatus, reckoning: Accounting, now: Time) -> Plan:
    """The pass in which a job ends also puts away; if it is cut short, the next one does the same."""
    actions, moment = run_policy.clean_up(crew, status, now)
    stages = (tuple(actions + desired.transient(crew)),)
    expiry = run_policy.expiry(crew, status)
    plan = finish_plan(crew, status, stages, clock.earliest((moment, expiry)))
    return dataclasses.replace(plan, events=(*events.exits(crew.job, reckoning.fresh), *plan.events))


def _waiting(status: JobStatus, now: Time) -> bool:
    return status.restarts.retry_at is not None and now < status.restarts.retry_at


def _work(crew: Replicas, status: JobStatus, now: Time) -> tuple[Stages, Time | None]:
    """Objects to make and to remove, and when one that is leaving has had its time.

    What a launcher reads is mended before a worker goes, so that it leaves the list first.
    """
    first, made, transient = desired.extras(crew)
    entered = frozenset(status.restarts.entered)
    replaced = [slot.pod for slot in crew.slots if slot.pod is not None and _replaceable(slot.pod, entered)]
    strays, moment = scale_down.strays(crew, now)
    gone = strays + desired.deletes(replaced) + desired.stray_services(crew) + transient
    held = gang.held_back(crew) or _waiting(status, now)
    early, created = desired.creates(crew, () if held else [slot.replica for slot in crew.slots if slot.pod is None])
    created = scale_down.returned(crew, status, created)
    asks = waiting_reason.inquiries(crew, now)
    return (tuple(first), (*made, *early), tuple(desired.refreshes(crew)), (*gone, *created, *asks)), moment


def _replaceable(pod: objects.Pod, entered: frozenset[str]) -> bool:
    return pod.metadata.uid in entered and pod.status.phase == "Failed"
