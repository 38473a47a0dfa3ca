"""The plan of a job: the actions that follow from its spec, its status and the observed objects."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from traincrew.kinds import violations
from traincrew.kinds.kind import JobKind
from traincrew.kinds.rule import Violation, unenforced
from traincrew.model import jobs
from traincrew.model.meta import Time
from traincrew.model.observed import Observed
from traincrew.model.status import Condition, JobStatus
from traincrew.planner import (
    deadlines,
    dependents,
    elastic_members,
    failure_summary,
    first_failures,
    host_ports,
    name_conflicts,
    pods_and_services,
    progress,
    restarts,
    run_policy,
    running,
    waiting_reason,
    worker_seconds,
)
from traincrew.planner.actions import NO_ACTION, Action, JobEvent, Plan
from traincrew.planner.replicas import Replicas


def plan(kind: JobKind, stored: jobs.JobObject[Any], observed: Observed, now: Time) -> Plan:
    kind = kind.following(stored)
    job = kind.job(stored)
    manager = job.policy.managed_by
    if job.metadata.deletion_timestamp is not None or (manager is not None and manager not in kind.managers):
        return NO_ACTION
    replicas = elastic_members.resolve(Replicas(kind, job, observed), now)
    if job.status.finished:
        return _finished(replicas, now)
    if invalid := [*_unreadable_spec(replicas), *violations.of_job(kind, job)]:
        return _invalid(replicas, invalid, now)
    if job.suspended:
        return _suspended(replicas, now)
    return running.run(host_ports.allocate(replicas), now)


def _unreadable_spec(replicas: Replicas) -> list[Violation]:
    """A job is not run without a part of its spec."""
    own = (replicas.kind.kind, replicas.job.name)
    parts = [part for each in replicas.observed.unreadable if (each.kind, each.name) == own for part in each.parts]
    return [unenforced(part.path, f"cannot be read: {part.reason}") for part in parts if part.path.startswith("spec")]


def _finished(replicas: Replicas, now: Time) -> Plan:
    status = host_ports.record_allocation(replicas, progress.count_ended_pods(replicas, replicas.job.status))
    status = _with_cause(replicas, status, now)
    expiry = run_policy.expiry(replicas, status)
    if expiry is not None and now >= expiry:
        return _delete_job(replicas)
    actions, next_clean_up = run_policy.clean_up(replicas, status, now)
    active = sum(counts.active for counts in status.replica_statuses.values())
    if replicas.job.policy.clean_pod_policy == "None" and active:
        pods = "1 pod is still running" if active == 1 else f"{active} pods are still running"
        message = f"{pods}: cleanPodPolicy None keeps {'it' if active == 1 else 'them'}"
        failed = failure_summary.of(status)
        message += f"; {failed.message}" if failed is not None else ""
        status = msgspec.structs.replace(status, why=waiting_reason.with_since(status.why, "PodsStillRunning", message, now))
    elif status.ended_by != "Validation":
        status = msgspec.structs.replace(status, why=failure_summary.of(status))
    stages = (tuple(actions + dependents.delete_unwanted(replicas)),)
    return running.build_plan(replicas, status, stages, deadlines.earliest((expiry, next_clean_up)))


def _with_cause(replicas: Replicas, status: JobStatus, now: Time) -> JobStatus:
    """The pod that failed first may be seen after a pod whose failure is a consequence, and which ended the job."""
    if status.failure is None and status.last_failure is None:
        return status
    observed = restarts.observed_failures(replicas, now)
    recorded = (status.failure, status.last_failure)
    causes = [first_failures.cause_of(each, observed) if each is not None else None for each in recorded]
    causes = [first_failures.with_victims(each, observed) for each in causes]
    return msgspec.structs.replace(status, failure=causes[0], last_failure=causes[1])


def _delete_job(replicas: Replicas) -> Plan:
    job, kind = replicas.job, replicas.kind
    event = JobEvent("Normal", kind.reporting.ttl_event, f"Deleted job: {job.name}")
    return Plan(stages=((pods_and_services.delete(kind.resource, job),),), events=(event,), milestones=("deleted",))


def _invalid(replicas: Replicas, invalid: list[Violation], now: Time) -> Plan:
    """A job that was not started fails, so that clients do not wait for it. The pods of a started job are kept."""
    reason = replicas.kind.reporting.invalid_reason or f"{replicas.kind.kind}FailedValidation"
    text = "; ".join(f"{violation.path}: {violation.message}" for violation in invalid)
    if replicas.job.status.start_time is not None:
        return running.status_only(replicas, "InvalidSpec", f"the changed spec is invalid: {text}", now)
    status = progress.initial_status(replicas.kind, replicas.job, deadlines.whole(now))
    entry = Condition(type="Failed", status="True", reason=reason, message=text)
    status = progress.finish(replicas, status, entry, "Validation", deadlines.whole(now))
    # The event of the Failed condition has the same text: the waiting reason needs no event.
    plan = running.build_plan(replicas, status, (), None)
    explained = msgspec.structs.replace(status, why=waiting_reason.with_since(None, "InvalidSpec", text, now))
    return dataclasses.replace(plan, status=explained)


def _suspended(replicas: Replicas, now: Time) -> Plan:
    kind, job, stamp = replicas.kind, replicas.job, deadlines.whole(now)
    status = name_conflicts.record(replicas, progress.initial_status(kind, job, stamp))
    if any(entry.type == "Running" for entry in status.conditions):
        entry = progress.condition(kind, job, "Running", "False", say="paused", reason=f"{kind.kind}Suspended")
        status = progress.with_condition(status, entry, stamp)
    status = _idle(replicas, progress.with_condition(status, progress.condition(kind, job, "Suspended"), stamp))
    status = worker_seconds.record(replicas, status, now)
    first: list[Action] = []
    updated: list[Action] = []
    deleted = dependents.delete_unwanted(replicas)
    if replicas.delegates:  # the launcher is suspended, not deleted
        first, updated, deleted = dependents.reconcile(replicas, gangs=False)
    deleted = [*pods_and_services.delete_pods(replicas.own_pods), *deleted]
    if kind.pods.services:
        deleted += pods_and_services.delete_services(replicas, ())
    return running.build_plan(replicas, status, (tuple(first), tuple(updated), tuple(deleted)), None)


def _idle(replicas: Replicas, status: JobStatus) -> JobStatus:
    """Without active or completed replicas. The pods that the operator deletes are recorded, so that they are not losses."""
    replace = msgspec.structs.replace
    status = progress.count_suspended(replicas, status)
    deleted = sorted(pod.metadata.uid for pod in replicas.own_pods)
    restarts = replace(status.restarts, open=False, retry_at=None, entered=deleted)
    restarts = status.restarts if restarts == status.restarts else restarts
    return replace(status, restarts=restarts, why=None, elastic=None)
