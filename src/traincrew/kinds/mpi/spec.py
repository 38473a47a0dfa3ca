"""The union of both versions' fields, and the facts that both contracts use."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from traincrew.model import jobs, naming, objects
from traincrew.model.observed import Observed

DELIVERY_IMAGE = "mpi-kubectl-delivery-image"
MOUNT = "/etc/mpi"
CONFIG_VOLUME = "mpi-job-config"
INT32 = {"type": "integer", "format": "int32"}
STRING = {"type": "string"}
BOOLEAN = {"type": "boolean"}

SCHEMA = {
    "slotsPerWorker": INT32,
    "mainContainer": STRING,
    "runLauncherAsWorker": BOOLEAN,
    "sshAuthMountPath": STRING,
    "launcherCreationPolicy": STRING,
    "mpiImplementation": STRING,
}


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="mpiReplicaSpecs", default=None)
    slots_per_worker: int | None = None
    main_container: str | None = None
    run_launcher_as_worker: bool = False
    ssh_auth_mount_path: str | None = None
    launcher_creation_policy: str | None = None
    mpi_implementation: str | None = None


def contract(spec: jobs.JobSpec) -> str:
    return "v2beta1" if getattr(spec, "ssh_auth_mount_path", None) is not None else "v1"


def slots(job: jobs.Job) -> int:
    return 1 if job.spec.slots_per_worker is None else int(job.spec.slots_per_worker)


def worker_names(job: jobs.Job) -> list[str]:
    return [naming.replica(job.name, "Worker", index) for index in range(job.count("Worker"))]


def launcher_name(job: jobs.Job) -> str:
    return f"{job.name}-launcher"


def reachable(job: jobs.Job, pods: Iterable[objects.Pod]) -> list[str]:
    """Workers that a launcher may use now, in the order of their index: running, not leaving, not known to be unready."""
    usable = {pod.name for pod in pods if pod.active and not _unready(pod)}
    return [name for name in worker_names(job) if name in usable]


def _unready(pod: objects.Pod) -> bool:
    ready = pod.status.condition("Ready")
    return ready is not None and ready.status == "False"


def find_config(job: jobs.Job, observed: Observed) -> objects.ConfigMap | None:
    return next((found for found in observed.config_maps if found.metadata.name == f"{job.name}-config"), None)
