"""Values in a job of any kind that are allowed but probably a mistake."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew.kinds import overridden_variables, violations
from traincrew.kinds.kind import JobKind
from traincrew.kinds.rule import Violation, unenforced
from traincrew.model import jobs

_POLICY_FIELDS = {
    "clean_pod_policy": "cleanPodPolicy",
    "ttl_seconds_after_finished": "ttlSecondsAfterFinished",
    "active_deadline_seconds": "activeDeadlineSeconds",
    "backoff_limit": "backoffLimit",
}


def of_job(kind: JobKind, job: jobs.Job) -> list[Violation]:
    return [
        *kind.validation.advise(job),
        *_roles(kind, job),
        *_policy(job),
        *_overridden_fields(job),
        *overridden_variables.of_job(kind, job),
    ]


def _roles(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    for role in job.roles.values():
        for key, _ in violations.entries(kind, job, role.name):
            path = violations.replica_path(kind, key)
            if role.replicas == 0:
                yield unenforced(f"{path}.replicas", "is 0: no pods are created for this replica type")
            ignored = (role.parsed.get("spec") or {}).get("restartPolicy")
            if ignored and ignored != role.restart_policy:
                message = f"{ignored!r} is ignored: restartPolicy {role.restart_policy!r} of the replica type is used instead"
                yield unenforced(f"{path}.template.spec.restartPolicy", message)


def _policy(job: jobs.Job) -> Iterator[Violation]:
    clean_pod_policy = job.policy.clean_pod_policy
    if clean_pod_policy and clean_pod_policy not in jobs.CLEAN_POD_POLICIES:
        message = f"{clean_pod_policy!r} is not one of {', '.join(jobs.CLEAN_POD_POLICIES)} and is treated as All"
        yield unenforced(_policy_path(job, "clean_pod_policy"), message)
    if job.policy.active_deadline_seconds is not None and job.policy.active_deadline_seconds <= 0:
        yield unenforced(_policy_path(job, "active_deadline_seconds"), "the job fails as soon as it starts")


def _policy_path(job: jobs.Job, field: str) -> str:
    policy = job.spec.run_policy
    parent = "spec.runPolicy." if policy is not None and getattr(policy, field) is not None else "spec."
    return parent + _POLICY_FIELDS[field]


def _overridden_fields(job: jobs.Job) -> Iterator[Violation]:
    for field, name in _POLICY_FIELDS.items():
        legacy = getattr(job.spec, field)
        if legacy is not None and legacy != getattr(job.policy, field):
            yield unenforced(f"spec.{name}", f"is ignored: spec.runPolicy.{name} is used instead")
