"""What is allowed in a job of any kind but hardly meant."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew.kinds import validation_rules
from traincrew.kinds.kind import Fault, JobKind
from traincrew.model import jobs

_CLEANING = ("None", "Running", "All")
_POLICY_FIELDS = {
    "clean_pod_policy": "cleanPodPolicy",
    "ttl_seconds_after_finished": "ttlSecondsAfterFinished",
    "active_deadline_seconds": "activeDeadlineSeconds",
    "backoff_limit": "backoffLimit",
}


def advice(kind: JobKind, job: jobs.Job) -> list[Fault]:
    return [*kind.advise(job), *_roles(kind, job), *_policy(job), *_two_places(job)]


def _roles(kind: JobKind, job: jobs.Job) -> Iterator[Fault]:
    for role in job.roles.values():
        for key, _ in validation_rules.entries(kind, job, role.name):
            path = validation_rules.replica_path(kind, key)
            if role.replicas == 0:
                yield _advice(f"{path}.replicas", "is 0: this replica type gets no pods")
            own = (role.parsed.get("spec") or {}).get("restartPolicy")
            if own and own != role.restart_policy:
                message = f"{own!r} is not used: the replica type's restartPolicy, {role.restart_policy!r}, takes its place"
                yield _advice(f"{path}.template.spec.restartPolicy", message)


def _policy(job: jobs.Job) -> Iterator[Fault]:
    cleaning = job.policy.clean_pod_policy
    if cleaning and cleaning not in _CLEANING:
        message = f"{cleaning!r} is none of {', '.join(_CLEANING)} and acts like All"
        yield _advice(_place(job, "clean_pod_policy"), message)
    if job.policy.active_deadline_seconds is not None and job.policy.active_deadline_seconds <= 0:
        yield _advice(_place(job, "active_deadline_seconds"), "the job fails as soon as it starts")


def _place(job: jobs.Job, field: str) -> str:
    policy = job.spec.run_policy
    inside = "spec.runPolicy." if policy is not None and getattr(policy, field) is not None else "spec."
    return inside + _POLICY_FIELDS[field]


def _two_places(job: jobs.Job) -> Iterator[Fault]:
    for field, name in _POLICY_FIELDS.items():
        older = getattr(job.spec, field)
        if older is not None and older != getattr(job.policy, field):
            yield _advice(f"spec.{name}", f"is not used: spec.runPolicy.{name} takes its place")


def _advice(path: str, message: str) -> Fault:
    return Fault(path=path, message=message, server=False)
