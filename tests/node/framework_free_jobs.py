"""Jobs that communicate as their frameworks do, without the frameworks."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

from tests.cluster import manifests
from tests.cluster.api import Object

_TF = """
import json, os, socket, time
config = json.loads(os.environ["TF_CONFIG"])
role, index, cluster = config["task"]["type"], config["task"]["index"], config["cluster"]
workers = [(each, number) for each in ("chief", "worker") for number in range(len(cluster[each]))]
host, _, port = cluster["ps"][0].rpartition(":")
if role == "ps":
    listener, given, waiting = socket.create_server(("", int(port))), {}, []
    while True:
        peer = listener.accept()[0].makefile("rw")
        name, value = peer.readline().split()
        given[name] = int(value)
        waiting.append(peer)
        if len(given) == len(workers):
            for each in waiting:
                each.write(f"{sum(given.values())}\\n")
                each.close()
            print("sum", sum(given.values()), "of", *sorted(given), flush=True)
while True:
    try:
        peer = socket.create_connection((host, int(port)), 5).makefile("rw")
        break
    except OSError:
        time.sleep(0.1)
peer.write(f"{role}-{index} {index + 10}\\n")
peer.flush()
print(role, index, "heard", int(peer.readline()), flush=True)
"""
"""A parameter server that never exits. The chief and the workers each send it a number."""


def tensorflow(name: str) -> Object:
    roles = {"PS": 1, "Chief": 1, "Worker": 2}
    replicas: dict[str, Any] = {
        role: manifests.replicas("TFJob", count, "Never", command=["python3", "-c", _TF]) for role, count in roles.items()
    }
    return manifests.job("TFJob", name, run={"cleanPodPolicy": "None"}, **replicas)


_KUBEXEC = """set -e
for host in $(cut -d' ' -f1 /etc/mpi/hostfile); do
  echo rank at $(/etc/mpi/kubexec.sh $host 'hostname; echo in $PWD'); done
set +e
/etc/mpi/kubexec.sh {name}-worker-0 'exit 5' 2>/dev/null; echo code $?
/opt/kube/kubectl exec {bystander} -- true 2>&1; echo bystander $?
"""


def mpi(name: str, bystander: str) -> Object:
    """Runs commands on its workers through exec, and tries to exec in a pod of another job."""
    script = _KUBEXEC.format(name=name, bystander=bystander)
    launcher = manifests.replicas("MPIJob", 1, command=["sh", "-c", script])
    return manifests.job("MPIJob", name, run={"cleanPodPolicy": "None"}, Launcher=launcher, Worker=2)


_OPTIONS = "-p 2222 -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
_SSH = f"""set -e
for host in $(cut -d' ' -f1 /etc/mpi/hostfile); do
  echo rank at $(ssh {_OPTIONS} $host hostname)
done"""
_SSHD = """set -e
mkdir -p /run/sshd
grep -q ^sshd: /etc/passwd || echo sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin >> /etc/passwd
ssh-keygen -q -t ed25519 -N '' -f /tmp/host-key
options='-o HostKey=/tmp/host-key -o StrictModes=no -o UsePAM=no -o PermitRootLogin=prohibit-password'
exec /usr/sbin/sshd -f /dev/null -De -p 2222 $options"""


def mpi_by_ssh(name: str, programs: Sequence[tuple[pathlib.Path, str]]) -> Object:
    """programs: files of sshd on the host and their paths in the container, unless the host has sshd installed."""

    def replica(count: int, script: str) -> dict[str, Any]:
        return manifests.replicas("MPIJob", count, command=["sh", "-c", script])

    run = {"cleanPodPolicy": "Running"}
    roles = {"Launcher": replica(1, _SSH), "Worker": replica(2, _SSHD)}
    spec = roles["Worker"]["template"]["spec"]
    spec["volumes"] = [{"name": f"p{at}", "hostPath": {"path": str(each)}} for at, (each, _) in enumerate(programs)]
    mounts = [{"name": f"p{at}", "mountPath": path, "readOnly": True} for at, (_, path) in enumerate(programs)]
    spec["containers"][0]["volumeMounts"] = mounts
    return manifests.job("MPIJob", name, version="v2beta1", run=run, spec={"slotsPerWorker": 1}, **roles)
