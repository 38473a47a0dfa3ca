"""Counts and conditions in the status, computed from the pods."""

from __future__ import annotations

import msgspec

from traincrew.apimachinery import completion_indexes
from traincrew.kinds import pod_templates
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Role
from traincrew.model import jobs, naming, objects
from traincrew.model.meta import Time
from traincrew.model.status import Condition, JobStatus, ReplicaStatus, Restarts
from traincrew.planner import conditions, delegated_role, failure_summary, losses, restarts
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


def count_ended_pods(replicas: Replicas, status: JobStatus) -> JobStatus:
    """The status of a finished job: pods that end by themselves after the job are counted. Only `active` becomes smaller."""
    result = {}
    for name, counts in status.replica_statuses.items():
        members = replicas.by_role.get(name, ())
        result[name] = msgspec.structs.replace(
            counts,
            active=sum(pod.active for pod in members),
            succeeded=max(sum(pod.status.phase == "Succeeded" for pod in members), counts.succeeded),
            failed=max(sum(pod.status.phase == "Failed" and not _ended_by_operator(pod) for pod in members), counts.failed),
        )
    return msgspec.structs.replace(status, replica_statuses=result)


def _ended_by_operator(pod: objects.Pod) -> bool:
    """Whether a pod of a finished job was ended by the clean-up: by its deletion, or by a deadline."""
    requested = losses.deletion_requested_at(pod)
    ends = [status.state.terminated for status in pod.status.container_statuses if status.state.terminated is not None]
    before = all(end.finished_at is not None and requested is not None and end.finished_at < requested for end in ends)
    return (pod.terminating and not (ends and before)) or pod.spec.active_deadline_seconds == 1


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
    status = msgspec.structs.replace(status, restarts=_final_restarts(replicas, status))
    status = msgspec.structs.replace(status, completion_time=now, ended_by=by)
    return msgspec.structs.replace(status, why=failure_summary.of(status))


def _final_restarts(replicas: Replicas, status: JobStatus) -> Restarts:
    """With the restarts of containers, whose pods may be deleted."""
    inside = restarts.container_restarts_of_all(replicas, status.restarts)
    final = msgspec.structs.replace(status.restarts, charged=status.restarts.charged + inside, retry_at=None)
    return status.restarts if final == status.restarts else final  # the default value is not serialized
