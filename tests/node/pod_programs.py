"""Programs for the pods of these tests, in plain Python. Every program records each of its starts in /notes."""

from __future__ import annotations

import pathlib
from typing import Any

from tests.cluster.api import Object, eventually
from tests.node.local_cluster import LocalCluster, pod

NOTES = "/notes"

PRELUDE = f"""
import os, shlex, signal, socket, subprocess, sys, threading, time
with open({NOTES!r} + "/starts-" + socket.gethostname(), "a") as notes:
    notes.write("x")
def over():
    return os.path.exists({NOTES!r} + "/over")
"""

LINES = 4000
LOUD = (
    PRELUDE
    + f"""
for number in range({LINES}):
    os.write(1, b"out %d\\n" % number)
    os.write(2, b"err %d\\n" % number)
    if number % 100 == 0:
        time.sleep(0.01)
sys.exit(int(sys.argv[1]))
"""
)
"""Writes numbered lines to both streams for about half a second."""

LASTING = (
    PRELUDE
    + """
def end(*_):
    os.write(1, b"terminating\\n")
    time.sleep(0.3)
    os.write(1, b"ended\\n")
    os._exit(int(sys.argv[1]))
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    signal.pause()
"""
)
"""Takes a while to exit after SIGTERM."""

EXCHANGE = (
    PRELUDE
    + """
rank, world, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
def line(peer):
    text = peer.readline()
    if not text:
        sys.exit(f"rank {rank}: the connection has ended")
    return int(text)
if rank == 0:
    listener = socket.create_server(("", port))
    peers = [listener.accept()[0].makefile("rw", buffering=1) for _ in range(world - 1)]
else:
    while True:
        try:
            peers = [socket.create_connection((os.environ["MASTER_ADDR"], port), 5).makefile("rw", buffering=1)]
            break
        except OSError:
            time.sleep(0.05)
step, going = 0, 1
while going:
    if rank == 0:
        total = rank + step + sum(line(peer) for peer in peers)
        going = 0 if over() else 1
        for peer in peers:
            peer.write(f"{total}\\n{going}\\n")
        time.sleep(0.005)
    else:
        peers[0].write(f"{rank + step}\\n")
        total, going = line(peers[0]), line(peers[0])
    assert total == world * step + world * (world - 1) // 2, (step, total)
    if step % 20 == 0:
        print("step", step, flush=True)
    step += 1
print("steps", step, flush=True)
"""
)
"""Sends a number of each rank to rank 0 and the sum back to all, repeatedly, like an all-reduce of gradients."""

REMOTE = f"""
import os, socket, time
open({NOTES!r} + "/remote-" + socket.gethostname(), "w").close()
number = 0
while not os.path.exists({NOTES!r} + "/over"):
    print("line", number, flush=True)
    number += 1
    time.sleep(0.002)
print("lines", number, flush=True)
"""

LAUNCHER = (
    PRELUDE
    + f"""
hosts = [line.split()[0] for line in open("/etc/mpi/hostfile") if line.strip()]
def follow(host, found):
    command = ["/etc/mpi/kubexec.sh", host, "python3 -c " + shlex.quote({REMOTE!r})]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    *lines, last = process.stdout.read().splitlines()
    whole = lines == [f"line {{number}}" for number in range(len(lines))] and last == f"lines {{len(lines)}}"
    found[host] = (process.wait(), whole, len(lines))
found = {{}}
threads = [threading.Thread(target=follow, args=(host, found)) for host in hosts]
for each in threads: each.start()
for each in threads: each.join()
print(found, flush=True)
sys.exit(0 if len(found) == len(hosts) and all(code == 0 and whole for code, whole, _ in found.values()) else 1)
"""
)
"""Like mpirun: runs a command on every worker through the operator's script, and collects the output."""


def notes_directory(cluster: LocalCluster) -> pathlib.Path:
    """The directory on the host in which programs record their starts."""
    path = cluster.home / "notes"
    path.mkdir(exist_ok=True)
    path.chmod(0o777)
    return path


def starts(cluster: LocalCluster, name: str) -> int:
    path = notes_directory(cluster) / f"starts-{name}"
    return len(path.read_text()) if path.exists() else 0


def wait_for_remote_commands(cluster: LocalCluster, *workers: str) -> None:
    """Waits until the command of LAUNCHER runs on these pods."""
    for name in workers:
        eventually((notes_directory(cluster) / f"remote-{name}").exists, 120, because=f"no command was started on {name}")


def volumes(cluster: LocalCluster) -> dict[str, Any]:
    return {"volumes": [{"name": "notes", "hostPath": {"path": str(notes_directory(cluster))}}]}


def mounts() -> dict[str, Any]:
    return {"volumeMounts": [{"name": "notes", "mountPath": NOTES}]}


def program(cluster: LocalCluster, name: str, text: str, *arguments: str, **spec: Any) -> Object:
    return pod(name, "python3", "-c", escaped(text), *arguments, **volumes(cluster), **mounts(), **spec)


def escaped(text: str) -> str:
    """Escapes $(, which Kubernetes would expand."""
    return text.replace("$(", "$$(")


def replica(cluster: LocalCluster, count: int, container: str, text: str, **spec: Any) -> Object:
    image = {"name": container, "image": "example", **mounts()}
    command = {"command": ["python3", "-c", escaped(text)]} if text else {}
    pod_spec = {"containers": [{**image, **command}], "terminationGracePeriodSeconds": 2, **volumes(cluster)}
    return {"replicas": count, "template": {"spec": pod_spec}, **spec}


def pytorch(cluster: LocalCluster, name: str, text: str, workers: int = 2, restart: str = "OnFailure", **policy: Any) -> Object:
    roles = {"Master": 1, "Worker": workers}
    specs = {role: replica(cluster, count, "pytorch", text, restartPolicy=restart) for role, count in roles.items() if count}
    return {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
        "spec": {"runPolicy": {"cleanPodPolicy": "None", **policy}, "pytorchReplicaSpecs": specs},
    }  # fmt: skip


def mpi(cluster: LocalCluster, name: str, text: str, workers: int = 2) -> Object:
    specs = {"Launcher": replica(cluster, 1, "mpi", text), "Worker": replica(cluster, workers, "mpi", "")}
    return {
        "apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": {"name": name},
        "spec": {"runPolicy": {"cleanPodPolicy": "None"}, "mpiReplicaSpecs": specs},
    }  # fmt: skip


def condition(job: Object, kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in job["status"].get("conditions", ()))


def wait_for_success(cluster: LocalCluster, plural: str, name: str, within: float = 120.0) -> Object:
    """Waits until the job has finished. Fails unless it has succeeded."""

    def look() -> Any:
        job = cluster.api.get(plural, "default", name)
        return (condition(job, "Succeeded") or condition(job, "Failed")) and job

    found: Object = eventually(look, within)
    assert condition(found, "Succeeded"), found["status"]
    return found
