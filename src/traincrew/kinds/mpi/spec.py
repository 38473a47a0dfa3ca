"""The union of both versions' spec fields, and the facts about a job that both versions use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from traincrew.kinds.dependent import Dependent
from traincrew.kinds.horovod import worker_bounds
from traincrew.kinds.replica import Env, Manifest
from traincrew.kinds.spec_fields import described
from traincrew.model import jobs, resources

CONFIG_VOLUME = "mpi-job-config"
NO_DEVICES: Env = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
"""A launcher must not see the devices of a worker on the same node."""


class Spec(jobs.JobSpec):
    replica_specs: dict[str, jobs.ReplicaSpec | None] | None = msgspec.field(name="mpiReplicaSpecs", default=None)
    slots_per_worker: Annotated[
        int | None, described("The number of processes that mpirun may start on each worker. Default: 1.")
    ] = None
    main_container: Annotated[
        str | None,
        described("The container of the workers in which the launcher starts processes. Default: the first one. Used by v1."),
    ] = None
    run_launcher_as_worker: Annotated[
        bool, described("If true, processes are started in the launcher, too. Used by v2beta1.")
    ] = False
    ssh_auth_mount_path: Annotated[
        str | None, described("The directory of the SSH keys in the pods. Its presence marks a job of v2beta1.")
    ] = None
    launcher_creation_policy: Annotated[
        str | None, described("When the launcher is created: AtStartup, or WaitForWorkersReady. Used by v2beta1.")
    ] = None
    mpi_implementation: Annotated[
        str | None, described("The implementation of MPI in the image: OpenMPI, Intel or MPICH. Used by v2beta1.")
    ] = None
    elastic_policy: Annotated[
        worker_bounds.HorovodBounds | None,
        described("The bounds of an elastic Horovod job whose size the operator chooses. An extension of traincrew."),
    ] = None


def contract(stored: jobs.JobObject[Any]) -> str:
    """A webhook that is registered for v2beta1, such as that of Kueue, also gets the jobs of v1, and the API server then adds
    the defaults of v2beta1 to them. Nobody owns these defaults, and the managed fields of the creator are those of v1."""
    if stored.spec.ssh_auth_mount_path is None:
        return "v1"
    creation = stored.creation
    added_later = creation is not None and creation.version == "v1" and not creation.owns("sshAuthMountPath")
    return "v1" if added_later else "v2beta1"


def config_map(job: jobs.Job, data: Mapping[str, str]) -> Dependent:
    body = {"metadata": {"name": f"{job.name}-config"}, "data": data}
    return Dependent(resources.CONFIG_MAPS, body, reconciled_field="data")


def config_volume(job: jobs.Job, modes: Mapping[str, int]) -> Manifest:
    """The volume with these files of the ConfigMap."""
    items = [{"key": key, "path": key, "mode": mode} for key, mode in modes.items()]
    return {"configMap": {"name": f"{job.name}-config", "items": items}}
