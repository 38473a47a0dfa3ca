"""The union of both versions' spec fields, and the facts about a job that both versions use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from traincrew.kinds import autoscaling
from traincrew.kinds.dependent import Dependent
from traincrew.kinds.replica import Env, Manifest
from traincrew.kinds.spec_fields import described
from traincrew.model import jobs, naming, objects, resources

MOUNT = "/etc/mpi"
HOSTFILE = f"{MOUNT}/hostfile"
CONFIG_VOLUME = "mpi-job-config"
NO_DEVICES: Env = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
"""A launcher must not see the devices of a worker on the same node."""


LEAST = "The smallest number of workers. Default: that of horovodrun's --min-np."
MOST = "The largest number of workers. Default: that of horovodrun's --max-np."


class HorovodBounds(autoscaling.WorkerBounds):
    min_replicas: Annotated[int | None, described(LEAST)] = None
    max_replicas: Annotated[int | None, described(MOST)] = None


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
        HorovodBounds | None,
        described("The bounds of an elastic Horovod job whose size the operator chooses. An extension of traincrew."),
    ] = None


_NEVER = dt.datetime.max.replace(tzinfo=dt.UTC)


def contract(stored: jobs.JobObject[Any]) -> str:
    """A webhook that is registered for v2beta1, such as that of Kueue, also gets the jobs of v1, and the API server then adds
    the defaults of v2beta1 to them. Nobody owns these defaults, and the managed fields of the creator are those of v1."""
    if stored.spec.ssh_auth_mount_path is None:
        return "v1"
    creation = stored.creation
    added_later = creation is not None and creation.version == "v1" and not creation.owns("sshAuthMountPath")
    return "v1" if added_later else "v2beta1"


def slots(job: jobs.Job) -> int:
    return 1 if job.spec.slots_per_worker is None else int(job.spec.slots_per_worker)


def worker_names(job: jobs.Job) -> list[str]:
    return [naming.replica(job.name, "Worker", index) for index in job.indexes("Worker")]


def launcher_name(job: jobs.Job) -> str:
    return f"{job.name}-launcher"


def gpu_launcher(job: jobs.Job) -> bool:
    """A v1 launcher that requests GPUs trains too, so it is one of the hosts."""
    limits = ((container.get("resources") or {}).get("limits") or {} for container in job.roles["Launcher"].containers)
    return any("gpu" in name for names in limits for name in names)


def reachable(job: jobs.Job, pods: Iterable[objects.Pod]) -> list[objects.Pod]:
    """Workers that the launcher can use now, by index: running, not terminating, not reported unready."""
    usable = {pod.name: pod for pod in pods if pod.active and not _unready(pod)}
    return [usable[name] for name in worker_names(job) if name in usable]


def leaving_workers(job: jobs.Job, pods: Iterable[objects.Pod]) -> list[objects.Pod]:
    """Workers that still run and are terminating or about to be, the last one to be deleted first."""
    prefix, members = _worker_prefix(job), set(worker_names(job))
    running = (pod for pod in pods if pod.name.startswith(prefix) and pod.status.phase == "Running" and not _unready(pod))
    leaving = {int(index): pod for pod in running if (index := pod.name.removeprefix(prefix)).isdecimal()}
    found = [(pod, index) for index, pod in leaving.items() if pod.terminating or pod.name not in members]
    ordered = sorted(found, key=lambda each: (each[0].metadata.deletion_timestamp or _NEVER, each[1]), reverse=True)
    return [pod for pod, _ in ordered]


def on_lost_nodes(job: jobs.Job, pods: Iterable[objects.Pod]) -> list[objects.Pod]:
    """Workers that were running on nodes that no longer respond, by index.

    They may be terminating, and the job may have replaced them under another index: their peers wait for them all the same.
    """
    prefix = _worker_prefix(job)
    lost = {pod.name.removeprefix(prefix): pod for pod in pods if pod.node_lost and pod.name.startswith(prefix)}
    return [lost[index] for index in sorted(filter(str.isdecimal, lost), key=int)]


def _worker_prefix(job: jobs.Job) -> str:
    return naming.replica(job.name, "Worker", 0).removesuffix("0")


def _unready(pod: objects.Pod) -> bool:
    ready = pod.status.condition("Ready")
    return ready is not None and ready.status == "False"


def config_map(job: jobs.Job, data: Mapping[str, str]) -> Dependent:
    body = {"metadata": {"name": f"{job.name}-config"}, "data": data}
    return Dependent(resources.CONFIG_MAPS, body, reconciled_field="data")


def config_volume(job: jobs.Job, modes: Mapping[str, int]) -> Manifest:
    """The volume with these files of the ConfigMap."""
    items = [{"key": key, "path": key, "mode": mode} for key, mode in modes.items()]
    return {"configMap": {"name": f"{job.name}-config", "items": items}}
