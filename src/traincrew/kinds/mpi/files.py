"""The files of an MPI launcher: host file, remote shell, host discovery script."""

from __future__ import annotations

import shlex

from traincrew.kinds import hosts
from traincrew.kinds.horovod import horovodrun, host_discovery, lost_peers
from traincrew.kinds.hosts import launcher_name, slots, worker_names
from traincrew.kinds.mpi import implementations
from traincrew.model import jobs, naming
from traincrew.model.observed import Observed


def exec_files(job: jobs.Job, observed: Observed) -> dict[str, str]:
    """The files of v1: hosts are pod names, reached by `kubectl exec`."""
    count = slots(job)
    first = [launcher_name(job)] if hosts.has_gpu_launcher(job) else []
    launcher = [f"echo {name}:{count}\n" for name in first]
    workers = host_discovery.echo_lines(job, observed, host_discovery.POD_NAMES, f":{count}")
    elastic = {lost_peers.FILE: lost_peers.program()} if horovodrun.is_elastic(job) else {}
    lost = hosts.on_lost_nodes(job, observed.pods) if elastic else []
    workers += host_discovery.lost_lines(lost, host_discovery.POD_NAMES, f":{count}")
    return {
        "hostfile": "".join(f"{name} slots={count}\n" for name in first + worker_names(job)),
        "kubexec.sh": _kubexec(job),
        "discover_hosts.sh": "\n".join(("#!/bin/sh", *launcher, *workers, *lost_peers.comments(lost))),
        **elastic,
    }


def _kubexec(job: jobs.Job) -> str:
    # The API server accepts any string as the name of a container.
    container = f" --container {shlex.quote(job.spec.main_container)}" if job.spec.main_container else ""
    kubectl = f"/opt/kube/kubectl exec ${{POD_NAME}}{container}"
    if horovodrun.is_elastic(job):
        lines = ("#!/bin/sh", f"POD_NAME=${{1%{host_discovery.ALIAS_SUFFIX}*}}", "shift")
        return "\n".join((*lines, *lost_peers.remote_shell(hosts.MOUNT, f"{kubectl} --stdin")))
    return "\n".join(("#!/bin/sh", "POD_NAME=$1", "shift", f'{kubectl} -- /bin/sh -c "$*"'))


def ssh_files(job: jobs.Job, observed: Observed) -> dict[str, str]:
    """The files of v2beta1: hosts are DNS names, reached by SSH."""

    def host(name: str) -> str:
        return naming.pod_host(name, job.name, job.namespace, observed.planning.cluster_domain)

    first = [launcher_name(job)] if job.spec.run_launcher_as_worker else []
    line = implementations.of(job).host_line
    names = host_discovery.HostNames(host, host_discovery.dns_alias)
    lines = [*(f"echo {host(name)}" for name in first), *host_discovery.echo_lines(job, observed, names)]
    return {
        "hostfile": "".join(line.format(host=host(name), slots=slots(job)) for name in first + worker_names(job)),
        "discover_hosts.sh": "".join(f"{line}\n" for line in ("#!/bin/sh", *lines)),
    }
