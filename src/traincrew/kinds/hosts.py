"""The hosts of a job whose launcher starts processes on its workers: names, slots, and the workers that can be used now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from traincrew.model import jobs, naming, objects

MOUNT = "/etc/mpi"
"""The directory of the launcher with the host file and the host discovery script."""
HOSTFILE = f"{MOUNT}/hostfile"
DISCOVERY_SCRIPT = f"{MOUNT}/discover_hosts.sh"
_NEVER = dt.datetime.max.replace(tzinfo=dt.UTC)


def slots(job: jobs.Job) -> int:
    """The number of processes that may run on each worker."""
    return 1 if job.spec.slots_per_worker is None else int(job.spec.slots_per_worker)


def worker_names(job: jobs.Job) -> list[str]:
    return [naming.replica(job.name, "Worker", index) for index in job.indexes("Worker")]


def launcher_name(job: jobs.Job) -> str:
    return f"{job.name}-launcher"


def has_gpu_launcher(job: jobs.Job) -> bool:
    """A v1 launcher that requests GPUs trains too, so it is one of the hosts."""
    limits = ((container.get("resources") or {}).get("limits") or {} for container in job.roles["Launcher"].containers)
    return any("gpu" in name for names in limits for name in names)


def trains_in_launcher(job: jobs.Job) -> bool:
    return bool(job.spec.run_launcher_as_worker) or has_gpu_launcher(job)


def rank(job: jobs.Job, role_label: str, index: int) -> int | None:
    """mpirun numbers its processes in the order of the host file, which is that of the workers. None: a host has several."""
    return index if role_label == "worker" and slots(job) == 1 else None


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
