"""MPI jobs of v1 without a cluster: `kubectl exec` into a worker is a process here with the worker's host name and environment.

The operator's own host file, remote shell and discovery script are where they are in a pod, and one network interface, as
in a pod. Only kubectl is replaced, since there is no API server to ask: it enters a UTS namespace of the worker's name and leaves
the launcher's environment behind.
"""

from __future__ import annotations

import os
import pathlib
import shlex

import pytest
from tests.frameworks import local_jobs

_KUBECTL = """#!/bin/sh
# exec POD -- /bin/sh -c COMMAND
pod=$2; shift 3
hosts=$(mktemp {hosts}.XXXXXX)
(cat {hosts}; echo "10.9.0.1 $pod") > "$hosts"
enter='hostname "$0"; mount --bind "$1" /etc/hosts; shift; exec "$@"'
exec env -i {environment} unshare --uts --mount sh -c "$enter" "$pod" "$hosts" "$@"
"""

_POD = """set -e
mount -t tmpfs none {layers}
mkdir {layers}/upper {layers}/work
mount -t overlay none -o lowerdir=/etc,upperdir={layers}/upper,workdir={layers}/work /etc
mkdir -p /etc/mpi
mount --bind {mpi} /etc/mpi
cp {hosts} /etc/hosts
: > /etc/resolv.conf
ip link set lo up
ip link add eth0 type veth peer name other
ip link set other up
ip addr add 10.9.0.1/24 dev eth0
ip link set eth0 up
mount -t tmpfs none /opt
mkdir /opt/kube
cp {mpi}/../kubectl /opt/kube/kubectl
hostname {launcher}
exec "$@"
"""


def of_example(path: str, where: pathlib.Path) -> local_jobs.LocalJob:
    """The launcher process. Processes of workers are its descendants."""
    if os.geteuid() != 0:
        pytest.skip("host names of their own for the workers need root here")
    job, pods, files = local_jobs.planned(local_jobs.EXAMPLES / path)
    images = local_jobs.known_images(where)
    made = {pod["metadata"]["name"]: local_jobs.process_of(pod, images, where) for pod in pods}
    name = f"{job['metadata']['name']}-launcher"
    launcher, worker = made[name], made[f"{job['metadata']['name']}-worker-0"]
    mpi = where / "mpi"
    mpi.mkdir()
    for key, text in files.items():
        _program(mpi / key, text)
    environment = " ".join(shlex.quote(f"{key}={value}") for key, value in worker.env.items())
    # A pod knows its own name, a worker also the launcher's. The launcher must not know workers: they would be itself.
    hosts = where / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n10.9.0.1 {name}\n")
    _program(where / "kubectl", _KUBECTL.format(environment=environment, hosts=hosts))
    layers = where / "layers"
    layers.mkdir()
    script = _POD.format(layers=layers, mpi=mpi, hosts=hosts, launcher=name)
    launcher.argv = ["unshare", "--mount", "--uts", "--net", "sh", "-c", script, "pod", *launcher.argv]
    return local_jobs.LocalJob({"launcher": launcher})


def discover(where: pathlib.Path, names: list[str]) -> None:
    """Update the host files, as the operator does when workers are added or removed."""
    beside = where / "mpi" / ".discover_hosts.sh"
    _program(beside, "#!/bin/sh\n" + "".join(f"echo {name}:1\n" for name in names))
    beside.replace(where / "mpi" / "discover_hosts.sh")


def _program(path: pathlib.Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
