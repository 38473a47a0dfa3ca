"""The files that an MPI launcher reads: host file, remote shell, host discovery."""

from __future__ import annotations

from traincrew.kinds.mpi import elastic, host_discovery
from traincrew.kinds.mpi.spec import launcher_name, slots, worker_names
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
    script = "#!/bin/sh" + (f"\necho {leader}:{count}\n" if gpu_launcher(job) else "")
    script += "".join(f"\necho {name}:{count}" for name in host_discovery.hosts(job, observed, host_discovery.exec_spelling))
    if reminder := host_discovery.reminder(job, observed, host_discovery.exec_spelling):
        script += f"\n{reminder}"
    return {
        "hostfile": "".join(f"{name} slots={count}\n" for name in hosts),
        "kubexec.sh": _kubexec(job),
        "discover_hosts.sh": script,
    }


def _kubexec(job: jobs.Job) -> str:
    container = job.spec.main_container
    target = f" --container {container}" if container else ""
    pod = f"${{1%{host_discovery.AGAIN}*}}" if elastic.is_elastic(job) else "$1"
    lines = ("#!/bin/sh", "set -x", f"POD_NAME={pod}", "shift")
    return "\n".join((*lines, f'/opt/kube/kubectl exec ${{POD_NAME}}{target} -- /bin/sh -c "$*"'))


def ssh_files(job: jobs.Job, observed: Observed) -> dict[str, str]:
    """The v2beta1 set: hosts are DNS names, reached by SSH."""
    first = [launcher_name(job)] if job.spec.run_launcher_as_worker else []
    line = "{host} slots={slots}\n" if (job.spec.mpi_implementation or "OpenMPI") == "OpenMPI" else "{host}:{slots}\n"
    domain = observed.planning.cluster_domain

    def host(name: str) -> str:
        return naming.pod_host(name, job.name, job.namespace, domain)

    usable = [host(name) for name in first] + host_discovery.hosts(job, observed, host_discovery.dns_spelling, host)
    reminder = host_discovery.reminder(job, observed, host_discovery.dns_spelling, host)
    return {
        "hostfile": "".join(line.format(host=host(name), slots=slots(job)) for name in first + worker_names(job)),
        "discover_hosts.sh": "#!/bin/sh\n" + "".join(f"echo {name}\n" for name in usable) + (f"{reminder}\n" if reminder else ""),
    }
