"""The checks of a v2beta1 MPIJob: those of the other kinds, and the values of its own fields and of its run policy."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from traincrew.kinds import violations
from traincrew.kinds.kind import JobKind
from traincrew.kinds.mpi.implementations import IMPLEMENTATIONS
from traincrew.kinds.rule import Violation, unenforced
from traincrew.model import jobs


def _replicas_given(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    for key, spec in violations.entries(kind, job, "Worker"):
        if spec.replicas is None:
            yield unenforced(f"{violations.replica_path(kind, key)}.replicas", "must be specified")


def _minimums(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    values = {
        "slotsPerWorker": job.spec.slots_per_worker,
        "runPolicy.ttlSecondsAfterFinished": job.policy.ttl_seconds_after_finished,
        "runPolicy.activeDeadlineSeconds": job.policy.active_deadline_seconds,
        "runPolicy.backoffLimit": job.policy.backoff_limit,
    }
    for field, value in values.items():
        if value is not None and value < 0:
            yield unenforced(f"spec.{field}", f"must be at least 0, got {value}")


def _supported_values(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    if job.spec.ssh_auth_mount_path == "":
        yield unenforced("spec.sshAuthMountPath", "must not be empty")
    if job.spec.mpi_implementation not in (None, *IMPLEMENTATIONS):
        message = violations.unsupported(job.spec.mpi_implementation, IMPLEMENTATIONS)
        yield unenforced("spec.mpiImplementation", message)
    if job.policy.clean_pod_policy not in (None, *jobs.CLEAN_POD_POLICIES):
        message = violations.unsupported(job.policy.clean_pod_policy, jobs.CLEAN_POD_POLICIES)
        yield unenforced("spec.runPolicy.cleanPodPolicy", message)


CHECKS = (
    violations.job_name,
    violations.replica_names,
    functools.partial(violations.replica_specs, images=False),
    violations.managed_by,
    _replicas_given,
    _minimums,
    _supported_values,
)
