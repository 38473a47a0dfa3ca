"""MPI jobs of v1 without a cluster: `kubectl exec` into a worker is a process here with the worker's host name and environment.

The operator's own host file, remote shell and discovery script are where they are in a pod, and one network interface, as
in a pod. Only kubectl is replaced, since there is no API server to ask: it enters a UTS namespace of the worker's name and leaves
the launcher's environment behind.
"""

from __future__ import annotations

import os
import pathlib
import sys
import uuid

import pytest
from tests.frameworks import local_jobs

from traincrew.kinds.horovod import host_discovery, lost_peers
from traincrew.model import meta, objects

ADDRESS = "10.9.0.1"
_KUBECTL = """#!{python}
# kubectl exec POD [--stdin] -- /bin/sh -c COMMAND. As with the real one, its end does not end the processes in the pod.
import os, shutil, signal, subprocess, sys, tempfile, threading
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
pod, command = sys.argv[2], sys.argv[sys.argv.index("--") + 1 :]
handle, hosts = tempfile.mkstemp(dir={directory!r}, prefix="hosts.")
with open(handle, "w") as lines, open({hosts!r}) as known:
    lines.write(known.read() + "10.9.0.1 " + pod + "\\n")
enter = 'hostname "$0"; mount --bind "$1" /etc/hosts; shift; exec "$@"'
process = subprocess.Popen(
    ["unshare", "--uts", "--mount", "sh", "-c", enter, pod, hosts, *command], env={environment!r},
    stdin=subprocess.PIPE if "--stdin" in sys.argv else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    start_new_session=True,
)
def copy(source, target):
    while data := os.read(source, 65536):
        os.write(target, data)
pumps = [threading.Thread(target=copy, args=(each.fileno(), n)) for n, each in ((1, process.stdout), (2, process.stderr))]
if process.stdin is not None:
    threading.Thread(target=copy, args=(0, process.stdin.fileno()), daemon=True).start()
for each in pumps: each.start()
code = process.wait()
for each in pumps: each.join()
os._exit(code if code >= 0 else 128 - code)
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
    # A pod knows its own name, a worker also the launcher's. The launcher must not know workers: they would be itself.
    hosts = where / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n10.9.0.1 {name}\n")
    _program(
        where / "kubectl",
        _KUBECTL.format(python=sys.executable, directory=str(where), hosts=str(hosts), environment=dict(worker.env)),
    )
    layers = where / "layers"
    layers.mkdir()
    script = _POD.format(layers=layers, mpi=mpi, hosts=hosts, launcher=name)
    launcher.argv = ["unshare", "--mount", "--uts", "--net", "sh", "-c", script, "pod", *launcher.argv]
    return local_jobs.LocalJob({"launcher": launcher})


def discover(where: pathlib.Path, names: list[str], lost: tuple[str, ...] = ()) -> None:
    """Update the host files, as the operator does when workers are added or removed. lost: workers on lost nodes."""
    pods = [
        objects.Pod(metadata=meta.Meta(name=name, uid=uuid.uuid4().hex), status=objects.PodStatus(pod_ip=ADDRESS))
        for name in lost
    ]
    beside = where / "mpi" / ".discover_hosts.sh"
    lines = [*(f"echo {name}:1" for name in names), *host_discovery.lost_lines(pods, host_discovery.POD_NAMES, ":1")]
    _program(beside, "\n".join(("#!/bin/sh", *lines, *lost_peers.comments(pods))))
    beside.replace(where / "mpi" / "discover_hosts.sh")


def processes(worker: str) -> list[int]:
    """The processes that Horovod has started on the worker."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = pathlib.Path("/proc", pid, "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"HOROVOD_HOSTNAME={worker}".encode() in environment:
            found.append(int(pid))
    return found


def _program(path: pathlib.Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
