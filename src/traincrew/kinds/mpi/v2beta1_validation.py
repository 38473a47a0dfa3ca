"""Validation of a v2beta1 MPIJob, with the messages of the mpi-operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traincrew.kinds.kind import Violation, unenforced
from traincrew.kinds.mpi.spec import MANAGERS
from traincrew.kinds.validation_rules import DNS_LABEL
from traincrew.model import jobs, naming, suggestions

ALLOWED_MANAGERS = (*MANAGERS, "kueue.x-k8s.io/multikueue")
_LIMITS = {
    "ttl_seconds_after_finished": "ttlSecondsAfterFinished",
    "active_deadline_seconds": "activeDeadlineSeconds",
    "backoff_limit": "backoffLimit",
}


def validate(job: jobs.Job) -> list[Violation]:
    path = "spec.mpiReplicaSpecs"
    specs = job.spec.replica_specs
    if not specs:
        return [unenforced(path, "must have replica specs")]
    violations = [violation for key, spec in specs.items() for violation in _role(f"{path}[{key}]", key, spec)]
    if not specs.get("Launcher"):
        violations.append(unenforced(f"{path}[Launcher]", "must have Launcher replica spec"))
    last = naming.replica(job.name, "worker", max(job.count("Worker") - 1, 0))
    if len(last) > 63 or not DNS_LABEL.fullmatch(last):
        message = f"will not able to create pod and service with invalid DNS label {last!r}: shorten or correct the name"
        violations.append(unenforced("metadata.name", message))
    return [*violations, *_spec(job.spec), *_policy(job.policy)]


def _role(path: str, key: str, spec: jobs.ReplicaSpec | None) -> Iterator[Violation]:
    if key not in ("Launcher", "Worker"):
        meant = suggestions.did_you_mean(key, ("Launcher", "Worker"))
        yield unenforced(path, f"unsupported replica type {key!r}, must be Launcher or Worker{meant}")
        return
    if spec is None:
        yield unenforced(path, "must be specified, got null")
        return
    if spec.replicas is None and key == "Worker":
        yield unenforced(f"{path}.replicas", "must define number of replicas")
    elif key == "Launcher" and spec.replicas not in (None, 1):
        yield unenforced(f"{path}.replicas", f"must be 1, got {spec.replicas}")
    elif key == "Worker" and (spec.replicas or 0) < 1:
        yield unenforced(f"{path}.replicas", f"must be greater than or equal to 1, got {spec.replicas}")
    if not jobs.RoleSpec("", 0, "", spec.template).containers:
        yield unenforced(f"{path}.template.spec.containers", "must define at least one container")


def _spec(spec: Any) -> Iterator[Violation]:
    if (spec.slots_per_worker or 0) < 0:
        yield unenforced("spec.slotsPerWorker", f"must be greater than or equal to 0, got {spec.slots_per_worker}")
    if spec.ssh_auth_mount_path == "":
        yield unenforced("spec.sshAuthMountPath", "must have a mount path for SSH credentials")
    if spec.mpi_implementation not in (None, "OpenMPI", "Intel", "MPICH"):
        message = f"unsupported value {spec.mpi_implementation!r}, must be OpenMPI, Intel or MPICH"
        yield unenforced("spec.mpiImplementation", message)


def _policy(policy: jobs.RunPolicy) -> Iterator[Violation]:
    if policy.clean_pod_policy not in (None, "None", "Running", "All"):
        message = f"unsupported value {policy.clean_pod_policy!r}, must be None, Running or All"
        yield unenforced("spec.runPolicy.cleanPodPolicy", message)
    if policy.managed_by is not None and policy.managed_by not in ALLOWED_MANAGERS:
        message = f"unsupported value {policy.managed_by!r}, must be one of {', '.join(ALLOWED_MANAGERS)}"
        yield unenforced("spec.runPolicy.managedBy", message)
    for field, name in _LIMITS.items():
        if (value := getattr(policy, field) or 0) < 0:
            yield unenforced(f"spec.runPolicy.{name}", f"must be greater than or equal to 0, got {value}")
