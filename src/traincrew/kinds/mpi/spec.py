"""The union of both versions' spec fields, and the facts about a job that both versions use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from traincrew.kinds.kind import Dependent
from traincrew.kinds.replica import Manifest, Replica, env_var
from traincrew.model import jobs, naming, objects, resources
from traincrew.model.observed import Observed

MANAGERS = ("kubeflow.org/mpi-operator", "kubeflow.org/training-operator")
MOUNT = "/etc/mpi"
CONFIG_VOLUME = "mpi-job-config"


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


def gpu_launcher(job: jobs.Job) -> bool:
    """A launcher that requests GPUs trains too, so it is one of the hosts."""
    for container in job.roles["Launcher"].containers:
        limits = (container.get("resources") or {}).get("limits") or {}
        if any(name.endswith(".com/gpu") or "gpu" in name for name in limits):
            return True
    return False


def reachable(job: jobs.Job, pods: Iterable[objects.Pod]) -> list[str]:
    """Workers that the launcher can use now, by index: running, not terminating, not reported unready."""
    usable = {pod.name for pod in pods if pod.active and not _unready(pod)}
    return [name for name in worker_names(job) if name in usable]


def _unready(pod: objects.Pod) -> bool:
    ready = pod.status.condition("Ready")
    return ready is not None and ready.status == "False"


def env_unless_set(replica: Replica, variables: Mapping[str, str]) -> list[Manifest]:
    """Variables that the first container of the template does not set itself."""
    container = next(iter(replica.job.roles[replica.role.name].containers), {})
    names = {entry.get("name") for entry in container.get("env") or []}
    return [env_var(name, value) for name, value in variables.items() if name not in names]


def metadata(job: jobs.Job, name: str) -> Manifest:
    return {"name": name, "labels": {"app": job.name}}


def named(entries: Iterable[Any], name: str) -> Any:
    """The object of this name, or None."""
    return next((entry for entry in entries if entry.metadata.name == name), None)


def config_map(job: jobs.Job, observed: Observed, data: dict[str, str]) -> Dependent:
    name = f"{job.name}-config"
    existing = named(observed.config_maps, name)
    drift = {"data": data} if existing and existing.data != data else None
    return Dependent(resources.CONFIG_MAPS, {"metadata": metadata(job, name), "data": data}, existing is not None, drift)


def mount_config(pod: Manifest, job: jobs.Job, modes: Mapping[str, int]) -> None:
    """Mount files of the ConfigMap into the first container."""
    spec = pod["spec"]
    items = [{"key": key, "path": key, "mode": mode} for key, mode in modes.items()]
    source = {"name": f"{job.name}-config", "items": items}
    spec.setdefault("volumes", []).append({"name": CONFIG_VOLUME, "configMap": source})
    spec["containers"][0].setdefault("volumeMounts", []).append({"name": CONFIG_VOLUME, "mountPath": MOUNT})
