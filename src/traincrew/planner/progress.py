"""Counts and conditions in the status, computed from the pods."""

from __future__ import annotations

import msgspec

from traincrew.apimachinery import completion_indexes
from traincrew.kinds import pod_templates
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Role
from traincrew.model import jobs, naming, objects
from traincrew.model.meta import Time
from traincrew.model.status import Condition, JobStatus, ReplicaStatus
from traincrew.planner import conditions, delegated_role, failure_summary
from traincrew.planner.delegated_role import DelegatedOutcome
from traincrew.planner.replicas import Replicas


def condition(kind: JobKind, job: jobs.Job, type: str, status: str = "True", **details: object) -> Condition:
    """A condition with the message of the kind. `say` selects another message, `reason` another reason."""
    say = str(details.pop("say", type.lower()))
    reason = str(details.pop("reason", "") or f"{kind.kind}{type}")
    template: str = getattr(kind.reporting.messages(job), say)
    message = template.format(kind=kind.kind, name=job.name, namespace=job.namespace, **details)
    return Condition(type=type, status=status, reason=reason, message=message)


def initial_status(kind: JobKind, job: jobs.Job, now: Time) -> JobStatus:
    """The status of a job after it is first seen."""
    status = job.status
    if not status.conditions:
        status = with_condition(status, condition(kind, job, "Created"), now)
    if not status.contract:
        status = msgspec.structs.replace(status, contract=kind.version)
    return status


def with_condition(status: JobStatus, entry: Condition, now: Time) -> JobStatus:
    entries = conditions.put(status.conditions, entry, now)
    return status if entries is status.conditions else msgspec.structs.replace(status, conditions=entries)


def count_pods(replicas: Replicas, status: JobStatus) -> JobStatus:
    """The status with the numbers of pods by state. Pending pods are not counted."""
    counts = {}
    for role in replicas.kind.roles:
        if _is_counted(replicas, role):
            members, reported = replicas.by_role.get(role.name, ()), _reported(replicas, role)
            counts[role.name] = ReplicaStatus(
                active=sum(pod.active for pod in members),
                succeeded=max(sum(pod.status.phase == "Succeeded" for pod in members), reported.succeeded),
                failed=max(sum(pod.status.phase == "Failed" for pod in members), reported.failed),
                selector=selector(replicas, role.name) if replicas.kind.reporting.replica_selectors else "",
                completed_indexes=_completed(replicas, role.name),
            )
    return msgspec.structs.replace(status, replica_statuses=counts, selector=_scale_selector(replicas))


def count_suspended(replicas: Replicas, status: JobStatus) -> JobStatus:
    """The status of a suspended job: no replica is active or completed. A job with a launcher shows that it has one."""
    replace = msgspec.structs.replace
    counts = {name: replace(entry, active=0, completed_indexes="") for name, entry in status.replica_statuses.items()}
    if replicas.delegates:
        roles = (role for role in replicas.kind.roles if _is_counted(replicas, role))
        counts = {role.name: ReplicaStatus(failed=_reported(replicas, role).failed) for role in roles}
    return replace(status, replica_statuses=counts, selector=_scale_selector(replicas))


def _is_counted(replicas: Replicas, role: Role) -> bool:
    """A delegated role has no status before the object exists that runs it. Beside it, roles without replicas have one, too."""
    if role.delegated and delegated_role.is_awaited(replicas):
        return False
    return replicas.delegates or role.name in replicas.job.roles


def _reported(replicas: Replicas, role: Role) -> objects.BatchJobStatus:
    """The counts of another controller, which may see its pods end before this operator does, and after they are deleted."""
    batch_jobs = replicas.observed.batch_jobs if role.delegated else ()
    return objects.BatchJobStatus(
        succeeded=sum(job.status.succeeded for job in batch_jobs), failed=sum(job.status.failed for job in batch_jobs)
    )


def _scale_selector(replicas: Replicas) -> str:
    return selector(replicas, "Worker") if replicas.kind.crd.selector_in_status and "Worker" in replicas.job.roles else ""


def _completed(replicas: Replicas, role: str) -> str:
    done = (slot.replica.index for slot in replicas.slots if slot.done and slot.replica.role.name == role)
    return completion_indexes.render(done, shortest_run=2)


def selector(replicas: Replicas, role: str) -> str:
    """The label selector for the scale subresource. The Go operators write it for all roles."""
    if not replicas.kind.crd.scalable:
        return ""
    labels = pod_templates.labels(replicas.kind, replicas.replica(role))
    keys = (naming.JOB_NAME, naming.OPERATOR_NAME, naming.REPLICA_TYPE)
    if naming.REPLICA_TYPE not in labels:
        keys = (naming.JOB_NAME, naming.OPERATOR_NAME, naming.JOB_ROLE)
    return naming.selector({key: labels[key] for key in keys})


def count_active_pods(replicas: Replicas, status: JobStatus) -> JobStatus:
    """The status of a finished job: only the number of active pods changes."""
    result = {}
    for name, counts in status.replica_statuses.items():
        active = sum(pod.active for pod in replicas.by_role.get(name, ()))
        result[name] = msgspec.structs.replace(counts, active=active)
    return msgspec.structs.replace(status, replica_statuses=result)


def outcome(replicas: Replicas) -> DelegatedOutcome | None:
    """The result of a job, decided by its leading roles. None: the job is not finished."""
    if replicas.delegates:
        return delegated_role.outcome(replicas)
    leading = replicas.kind.leading(replicas.job)
    return DelegatedOutcome(True) if replicas.kind.lifecycle.succeeded(replicas.job, replicas.by_role, leading) else None


def is_running(replicas: Replicas) -> bool:
    return replicas.kind.lifecycle.running(replicas.job, replicas.by_role, replicas.kind.leading(replicas.job))


def finish(replicas: Replicas, status: JobStatus, entry: Condition, by: str, now: Time) -> JobStatus:
    """The status of a job that ends now."""
    if (
        replicas.kind.reporting.running_before_end
        and by != "Validation"
        and conditions.find(status.conditions, "Running") is None
    ):
        status = with_condition(status, condition(replicas.kind, replicas.job, "Running", say="unseen"), now)
    status = with_condition(status, entry, now)
    if status.restarts.retry_at is not None:
        status = msgspec.structs.replace(status, restarts=msgspec.structs.replace(status.restarts, retry_at=None))
    status = msgspec.structs.replace(status, completion_time=now, ended_by=by)
    return msgspec.structs.replace(status, why=failure_summary.of(status))
