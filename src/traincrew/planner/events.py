"""The events of a job, derived from the difference between two states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from traincrew.kinds import elasticity, job_warnings
from traincrew.kinds.kind import JobKind
from traincrew.model import elastic_allocation, jobs, objects
from traincrew.model.meta import Time
from traincrew.model.observed import Observed
from traincrew.model.status import Condition, Elastic, Failure, JobStatus, Why
from traincrew.planner import conditions, failure_summary
from traincrew.planner.actions import JobEvent
from traincrew.planner.losses import Loss
from traincrew.planner.waiting_reason import SAME_REASON

_WARNINGS = ("Failed", "Restarting")
_MILESTONES = {"Created": "created", "Succeeded": "successful", "Failed": "failed", "Restarting": "restarted"}


def transitions(old: JobStatus, new: JobStatus) -> list[Condition]:
    """Conditions whose status changed."""
    changed = []
    for entry in new.conditions:
        before = conditions.find(old.conditions, entry.type)
        if before is None or before.status != entry.status:
            changed.append(entry)
    return changed


def milestones(old: JobStatus, new: JobStatus) -> tuple[str, ...]:
    changed = [entry.type for entry in transitions(old, new) if entry.status == "True"]
    return tuple(_MILESTONES[type] for type in changed if type in _MILESTONES)


def condition_events(kind: JobKind, old: JobStatus, new: JobStatus) -> list[JobEvent]:
    events = []
    reported = ("Succeeded", "Failed", "Restarting", "Suspended", *kind.reporting.event_conditions)
    for entry in transitions(old, new):
        if entry.type in reported and (entry.status == "True" or (entry.type == "Suspended" and old.is_true("Suspended"))):
            level = "Warning" if entry.type in _WARNINGS else "Normal"
            events.append(JobEvent(level, entry.reason, entry.message, key=str(entry.last_update_time)))  # type: ignore[arg-type]
    # The event of the Failed condition reports a failure.
    reason = _without_count(new.why) if new.why != failure_summary.of(new) else None
    if reason is not None and reason != _without_count(old.why):
        events.append(JobEvent("Warning", *reason))
    return events


def _without_count(why: Why | None) -> tuple[str, str] | None:
    """Reason and message, without the number of pods that wait for the same reason: it changes with every pod."""
    return (why.reason, why.message.partition(SAME_REASON)[0]) if why is not None else None


def exit_codes(job: jobs.Job, losses: tuple[Loss, ...]) -> list[JobEvent]:
    return [_exited(job.namespace, loss.pod.name, loss.exit_code, loss.uid) for loss in losses if loss.exit_code is not None]


def rendezvous_lost(kind: JobKind, job: jobs.Job, old: JobStatus, new: JobStatus) -> list[JobEvent]:
    """The rendezvous host was lost, which explains the failures of all other replicas."""
    host = "" if new.finished else kind.lifecycle.rendezvous(job)
    known = {(record.uid, record.time) for record in (old.failure, old.last_failure) if record is not None}
    lost = [record for record in (new.failure, new.last_failure) if record is not None and host and record.pod == host]
    return [_rendezvous_lost(record) for record in dict.fromkeys(lost) if (record.uid, record.time) not in known]


def _rendezvous_lost(record: Failure) -> JobEvent:
    message = f"{record.pod} hosts the rendezvous and was lost: the other replicas exit, and all replicas restart together"
    return JobEvent("Warning", "RendezvousLost", message, key=f"{record.uid} {record.time}")


def resized(old: JobStatus, new: JobStatus) -> list[JobEvent]:
    """A change of the workers of an elastic job, and the reason for which it is scaled by hand."""
    if new.elastic is None:
        return []
    before, after = (status.elastic or Elastic() for status in (old, new))
    events = []
    if after.last_resize is not None and after.last_resize != before.last_resize:
        events.append(JobEvent("Normal", after.last_resize.reason, after.last_resize.message, key=str(after.last_resize.at)))
    if after.scaling == elasticity.MANUAL and after.why is not None and _without_count(before.why) != _without_count(after.why):
        events.append(JobEvent("Warning", after.why.reason, f"the job is scaled by hand: {after.why.message}"))
    return events


def evicted(pods: Sequence[tuple[objects.Pod, str]]) -> list[JobEvent]:
    return [JobEvent("Normal", elastic_allocation.NOTICED, reason, key=pod.metadata.uid) for pod, reason in pods]


def _exited(namespace: str, pod: str, code: int, uid: str) -> JobEvent:
    return JobEvent("Normal", "ExitedWithCode", f"Pod: {namespace}.{pod} exited with code {code}", uid)


def start_warnings(kind: JobKind, job: jobs.Job, gang_scheduler: str) -> list[JobEvent]:
    """Warnings about the pod templates and other values, recorded when the job starts."""
    warnings = []
    for role in job.roles.values():
        spec = role.parsed.get("spec") or {}
        if spec.get("restartPolicy"):
            message = f"Restart policy in pod template overridden by restart policy in replica spec ({role.name})"
            warnings.append(JobEvent("Warning", "SetPodTemplateRestartPolicy", message))
        if gang_scheduler and spec.get("schedulerName"):
            message = f"Another scheduler is specified when gang-scheduling is enabled; it is kept ({role.name})"
            warnings.append(JobEvent("Warning", "SetPodTemplateSchedulerName", message))
    warnings += [JobEvent("Warning", "Advice", f"{each.path}: {each.message}") for each in job_warnings.of_job(kind, job)]
    return warnings


def implied(kind: JobKind, stored: jobs.JobObject[Any], observed: Observed, since: Time) -> list[JobEvent]:
    """The events that follow from the status of a job and are not older than `since`."""
    status, events = stored.status, []
    for entry in status.conditions:
        if _is_recent(entry.last_update_time, since):
            resumed = entry.type == "Suspended" and entry.status == "False"
            before = JobStatus(conditions=[msgspec.structs.replace(entry, status="True")]) if resumed else JobStatus()
            events += condition_events(kind, before, JobStatus(conditions=[entry]))
    # The event of the Failed condition reported these.
    reported = status.ended_by == "Validation" or status.why == failure_summary.of(status)
    if status.why is not None and not reported and _is_recent(status.why.since, since):
        events += condition_events(kind, JobStatus(), JobStatus(why=status.why))
    if not status.finished and _is_recent(status.start_time, since) and stored.metadata.generation <= 1:
        events += start_warnings(kind, kind.job(stored), observed.planning.gang_scheduler)
    recent = [record if record and _is_recent(record.time, since) else None for record in (status.failure, status.last_failure)]
    after = msgspec.structs.replace(status, failure=recent[0], last_failure=recent[1])
    events += rendezvous_lost(kind, kind.job(stored), JobStatus(), after)
    return events + [_exited(stored.metadata.namespace, *each) for each in _ended(kind, status, observed, since)]


def _ended(kind: JobKind, status: JobStatus, observed: Observed, since: Time) -> list[tuple[str, int, str]]:
    """Pod, exit code and UID of the recorded failures that ended a pod, not only a container."""
    live = {pod.metadata.uid for pod in observed.pods if pod.status.phase != "Failed"}
    delegated = [role.name for role in kind.roles if role.delegated]
    return [
        (record.pod, record.exit_code, record.uid)
        for record in dict.fromkeys(filter(None, (status.failure, status.last_failure)))
        if _is_recent(record.time, since) and record.exit_code is not None
        if record.uid not in live and record.replica not in delegated
    ]


def _is_recent(time: Time | None, since: Time) -> bool:
    return time is not None and time >= since
