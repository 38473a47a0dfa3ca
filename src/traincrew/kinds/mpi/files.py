"""The files that an MPI launcher reads: host file, remote shell, host discovery."""

from __future__ import annotations

from traincrew.kinds.mpi.spec import launcher_name, reachable, slots, worker_names
from traincrew.model import jobs, naming
from traincrew.model.observed import Observed


def gpu_launcher(job: jobs.Job) -> bool:
    """A launcher that asks for GPUs trains too, so it is listed among the hosts."""
    for container in job.roles["Launcher"].containers:
        limits = (container.get("resources") or {}).get("limits") or {}
        if any(name.endswith(".com/gpu") or "gpu" in name for name in limits):
            return True
    return False


def exec_files(job: jobs.Job, observed: Observed) -> dict[str, str]:
    """The v1 set: hosts are pod names, reached by `kubectl exec`."""
    count, leader = slots(job), launcher_name(job)
    hosts = ([leader] if gpu_launcher(job) else []) + worker_names(job)
    discovery = "#!/bin/sh" + (f"\necho {leader}:{count}\n" if gpu_launcher(job) else "")
    discovery += "".join(f"\necho {name}:{count}" for name in reachable(job, observed.pods))
    return {
        "hostfile": "".join(f"{name} slots={count}\n" for name in hosts),
        "kubexec.sh": _kubexec(job.spec.main_container),
        "discover_hosts.sh": discovery,
    }


def _kubexec(container: str | None) -> str:
    target = f" --container {container}" if container else ""
    lines = ("#!/bin/sh", "set -x", "POD_NAME=$1", "shift")
    return "\n".join((*lines, f'/opt/kube/kubectl exec ${{POD_NAME}}{target} -- /bin/sh -c "$*"'))


def ssh_files(job: jobs.Job, observed: Observed) -> dict[str, str]:
    """The v2beta1 set: hosts are DNS names, reached by SSH."""
    first = [launcher_name(job)] if job.spec.run_launcher_as_worker else []
    line = "{host} slots={slots}\n" if (job.spec.mpi_implementation or "OpenMPI") == "OpenMPI" else "{host}:{slots}\n"
    domain = observed.planning.cluster_domain

    def host(name: str) -> str:
        return naming.pod_host(name, job.name, job.namespace, domain)

    usable = first + reachable(job, observed.pods)
    return {
        "hostfile": "".join(line.format(host=host(name), slots=slots(job)) for name in first + worker_names(job)),
        "discover_hosts.sh": "#!/bin/sh\n" + "".join(f"echo {host(name)}\n" for name in usable),
    }
