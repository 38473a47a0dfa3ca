"""The one decision: given a job and the world around it, what to do now and when to look again."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from traincrew.kinds import validation_rules
from traincrew.kinds.kind import JobKind, Violation
from traincrew.model import jobs
from traincrew.model.meta import Time
from traincrew.model.observed import Observed
from traincrew.model.status import Condition, JobStatus
from traincrew.planner import clock, desired, failure_summary, host_ports, progress, run_policy, running, waiting_reason
from traincrew.planner.actions import NO_ACTION, Action, JobEvent, Plan
from traincrew.planner.replicas import Replicas


def plan(kind: JobKind, stored: jobs.JobObject[Any], observed: Observed, now: Time) -> Plan:
    kind = kind.following(stored)
    job = kind.job(stored)
    manager = job.policy.managed_by
    if job.metadata.deletion_timestamp is not None or (manager is not None and manager not in kind.managers):
        return NO_ACTION
    replicas = Replicas(kind, job, observed)
    if job.status.finished:
        return _after_the_end(replicas, now)
    faults = validation_rules.violations(kind, job)
    if faults:
        return _invalid(replicas, faults, now)
    if job.suspended:
        return _suspended(replicas, now)
    return running.run(host_ports.allocate(replicas), now)


def _after_the_end(replicas: Replicas, now: Time) -> Plan:
    status = host_ports.record_allocation(replicas, progress.count_active_pods(replicas, replicas.job.status))
    expiry = run_policy.expiry(replicas, status)
    if expiry is not None and now >= expiry:
        return _delete_job(replicas)
    actions, moment = run_policy.clean_up(replicas, status, now)
    left = sum(counts.active for counts in status.replica_statuses.values())
    if replicas.job.policy.clean_pod_policy == "None" and left:
        pods = "1 pod still runs" if left == 1 else f"{left} pods still run"
        message = f"{pods}: cleanPodPolicy None leaves {'it' if left == 1 else 'them'} alone"
        failed = failure_summary.of(status)
        message += f"; {failed.message}" if failed is not None else ""
        status = msgspec.structs.replace(status, why=waiting_reason.with_since(status.why, "PodsStillRunning", message, now))
    elif status.ended_by != "Validation":
        status = msgspec.structs.replace(status, why=failure_summary.of(status))
    stages = (tuple(actions + desired.delete_unwanted_dependents(replicas)),)
    return running.build_plan(replicas, status, stages, clock.earliest((expiry, moment)))


def _delete_job(replicas: Replicas) -> Plan:
    job, kind = replicas.job, replicas.kind
    told = JobEvent("Normal", kind.reporting.ttl_event, f"Deleted job: {job.name}")
    gone = desired.delete(kind.resource, job)
    return Plan(stages=((gone,),), events=(told,), milestones=("deleted",))


def _invalid(replicas: Replicas, faults: list[Violation], now: Time) -> Plan:
    """A job that was never started fails, so that whoever waits for it is told; one that runs is left alone."""
    reason = replicas.kind.reporting.invalid_reason or f"{replicas.kind.kind}FailedValidation"
    text = "; ".join(f"{fault.path}: {fault.message}" for fault in faults)
    if replicas.job.status.start_time is not None:
        return running.watch_only(replicas, "InvalidSpec", f"the edited specification cannot be used: {text}", now)
    status = progress.initial_status(replicas.kind, replicas.job, clock.whole(now))
    entry = Condition(type="Failed", status="True", reason=reason, message=text)
    status = progress.finish(replicas, status, entry, "Validation", clock.whole(now))
    # The event of the failure says it already: the explanation needs none of its own.
    plan = running.build_plan(replicas, status, (), None)
    explained = msgspec.structs.replace(status, why=waiting_reason.with_since(None, "InvalidSpec", text, now))
    return dataclasses.replace(plan, status=explained)


def _suspended(replicas: Replicas, now: Time) -> Plan:
    kind, job, stamp = replicas.kind, replicas.job, clock.whole(now)
    status = progress.initial_status(kind, job, stamp)
    if any(entry.type == "Running" for entry in status.conditions):
        entry = progress.condition(kind, job, "Running", "False", say="paused", reason=f"{kind.kind}Suspended")
        status = progress.with_condition(status, entry, stamp)
    status = _idle(replicas, progress.with_condition(status, progress.condition(kind, job, "Suspended"), stamp))
    made: list[Action] = []
    gone = desired.delete_unwanted_dependents(replicas)
    if replicas.delegates:  # the launcher is suspended, not removed
        _, made, gone = desired.dependents(replicas, gangs=False)
    gone = [*desired.delete_pods(replicas.own_pods), *gone]
    if kind.pods.services:
        gone += desired.delete_services(replicas, ())
    return running.build_plan(replicas, status, (tuple(made), tuple(gone)), None)


def _idle(replicas: Replicas, status: JobStatus) -> JobStatus:
    """Nothing runs, what was done is to be done again, and the pods that we send away are no losses."""
    replace = msgspec.structs.replace
    counts = {name: replace(entry, active=0, completed_indexes="") for name, entry in status.replica_statuses.items()}
    leaving = sorted(pod.metadata.uid for pod in replicas.own_pods)
    book = replace(status.restarts, open=False, retry_at=None, entered=leaving)
    book = status.restarts if book == status.restarts else book
    return replace(status, replica_statuses=counts, restarts=book, why=None)
