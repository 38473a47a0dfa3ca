"""The files of an MPI launcher: host file, remote shell, host discovery script."""

from __future__ import annotations

from traincrew.kinds.mpi import host_discovery, launch_command
from traincrew.kinds.mpi.spec import gpu_launcher, launcher_name, slots, worker_names
from traincrew.model import jobs, naming
from traincrew.model.observed import Observed


def exec_files(job: jobs.Job, observed: Observed) -> dict[str, str]:
    """The files of v1: hosts are pod names, reached by `kubectl exec`."""
    count, launcher = slots(job), launcher_name(job)
    hosts = ([launcher] if gpu_launcher(job) else []) + worker_names(job)
    script = "#!/bin/sh" + (f"\necho {launcher}:{count}\n" if gpu_launcher(job) else "")
    script += "".join(f"\necho {name}:{count}" for name in host_discovery.hosts(job, observed, host_discovery.exec_alias))
    if refresh := host_discovery.refresh_line(job, observed, host_discovery.exec_alias):
        script += f"\n{refresh}"
    return {
        "hostfile": "".join(f"{name} slots={count}\n" for name in hosts),
        "kubexec.sh": _kubexec(job),
        "discover_hosts.sh": script,
    }


def _kubexec(job: jobs.Job) -> str:
    container = job.spec.main_container
    target = f" --container {container}" if container else ""
    pod = f"${{1%{host_discovery.ALIAS_SUFFIX}*}}" if launch_command.is_elastic(job) else "$1"
    lines = ("#!/bin/sh", "set -x", f"POD_NAME={pod}", "shift")
    return "\n".join((*lines, f'/opt/kube/kubectl exec ${{POD_NAME}}{target} -- /bin/sh -c "$*"'))


def ssh_files(job: jobs.Job, observed: Observed) -> dict[str, str]:
    """The files of v2beta1: hosts are DNS names, reached by SSH."""
    first = [launcher_name(job)] if job.spec.run_launcher_as_worker else []
    line = "{host} slots={slots}\n" if (job.spec.mpi_implementation or "OpenMPI") == "OpenMPI" else "{host}:{slots}\n"
    domain = observed.planning.cluster_domain

    def host(name: str) -> str:
        return naming.pod_host(name, job.name, job.namespace, domain)

    hosts = [host(name) for name in first] + host_discovery.hosts(job, observed, host_discovery.dns_alias, host)
    refresh = host_discovery.refresh_line(job, observed, host_discovery.dns_alias, host)
    return {
        "hostfile": "".join(line.format(host=host(name), slots=slots(job)) for name in first + worker_names(job)),
        "discover_hosts.sh": "#!/bin/sh\n" + "".join(f"echo {name}\n" for name in hosts) + (f"{refresh}\n" if refresh else ""),
    }
