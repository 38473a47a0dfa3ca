"""Elastic jobs whose programs are light-weight: they find each other and lose each other as torchrun and horovodrun do."""

from __future__ import annotations

import pathlib
from typing import Any

from tests.cluster.api import Object
from tests.node.pod_programs import escaped

DEVICE = "nvidia.com/vgpu"
SHARED = "/shared"
BOUNDS, WANTED = (1, 4), 2
_STEP = """
def step(job):
    with open("/shared/steps-" + job, "ab", 0) as steps:
        steps.write(b"x")
    time.sleep(0.2)
def over():
    return os.path.exists("/shared/end")
"""
RENDEZVOUS = (
    """
import os, select, socket, sys, time
"""
    + _STEP
    + """
host, _, port = os.environ["PET_RDZV_ENDPOINT"].rpartition(":")
def connect():
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        try:
            return socket.create_connection((host, int(port)), 5)
        except OSError:
            time.sleep(0.5)
    sys.exit("The connection to the C10d store has failed.")
if socket.gethostname() == host:
    listener, peers = socket.create_server(("", int(port))), []
    while not over():
        while select.select([listener], [], [], 0)[0]:
            peers.append(listener.accept()[0])
        step("torch")
else:
    store = connect()
    while not over():
        if select.select([store], [], [], 0)[0] and not store.recv(1):
            sys.exit(0 if over() else "RuntimeError: Connection closed by peer")
        step("torch")
"""
)
"""As the agents of torchrun: worker 0 hosts a store, and those that lose it exit."""
RANK = (
    """
import os, time
"""
    + _STEP
    + """
host = os.environ["HOROVOD_HOSTNAME"]
while not over() and host in open("/shared/hosts").read().split():
    step("ring")
"""
)
LAUNCHER = f"""
import os, shlex, subprocess, time
ranks = {{}}
def discover():
    lines = subprocess.run(["/etc/mpi/discover_hosts.sh"], capture_output=True, text=True).stdout.split()
    return [host for host, _, slots in (line.rpartition(":") for line in lines) if slots != "0"]
def start(host):
    command = "HOROVOD_HOSTNAME=" + host + " python3 -c " + shlex.quote({RANK!r})
    return subprocess.Popen(["/etc/mpi/kubexec.sh", host, command])
while not os.path.exists("/shared/end"):
    hosts = discover()
    with open("/shared/hosts.new", "w") as file:
        file.write(" ".join(hosts))
    os.rename("/shared/hosts.new", "/shared/hosts")
    for host in hosts:
        if host not in ranks or ranks[host].poll() is not None:
            ranks[host] = start(host)
    time.sleep(1)
"""
"""As horovodrun: it asks the discovery script for hosts and runs a rank on each through the operator's remote shell."""
_DISCOVERY = "--host-discovery-script /etc/mpi/discover_hosts.sh"


def _template(shared: pathlib.Path, container: str, program: str, device: bool) -> Object:
    main: Object = {"name": container, "image": "example", "volumeMounts": [{"name": "shared", "mountPath": SHARED}]}
    if program:
        main["command"] = ["python3", "-c", escaped(program)]
    main["resources"] = {"requests": {"cpu": "10m"}, **({"limits": {DEVICE: 1}} if device else {})}
    volume = {"name": "shared", "hostPath": {"path": str(shared)}}
    return {"spec": {"containers": [main], "volumes": [volume], "terminationGracePeriodSeconds": 10}}


def _job(kind: str, name: str, spec: dict[str, Any]) -> Object:
    names = {"scaling": "idle", "checkpoint-seconds": "10", "start-seconds": "3"}
    annotations = {f"traincrew.kubeflow.org/{each}": text for each, text in names.items()}
    spec["runPolicy"] = {"cleanPodPolicy": "All"}
    return {
        "apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name, "annotations": annotations}, "spec": spec,
    }  # fmt: skip


def torch(shared: pathlib.Path, restart_policy: str) -> Object:
    worker = {"replicas": WANTED, "restartPolicy": restart_policy, "template": _template(shared, "pytorch", RENDEZVOUS, True)}
    policy = {"minReplicas": BOUNDS[0], "maxReplicas": BOUNDS[1]}
    return _job("PyTorchJob", "torch", {"elasticPolicy": policy, "pytorchReplicaSpecs": {"Worker": worker}})


def ring(shared: pathlib.Path, program: str = LAUNCHER, workers: int = WANTED, bounds: tuple[int, int] = BOUNDS) -> Object:
    launcher = {"replicas": 1, "restartPolicy": "OnFailure", "template": _template(shared, "mpi", "", False)}
    main = launcher["template"]["spec"]["containers"][0]  # type: ignore[index]
    main["env"] = [{"name": "PROGRAM", "value": escaped(program)}]
    flags = f"horovodrun -np {workers} --min-np {bounds[0]} --max-np {bounds[1]} {_DISCOVERY}"
    main["command"] = ["sh", "-c", f'exec python3 -c "$PROGRAM" # {flags}']
    worker = {"replicas": workers, "restartPolicy": "OnFailure", "template": _template(shared, "mpi", "", True)}
    return _job("MPIJob", "ring", {"mpiReplicaSpecs": {"Launcher": launcher, "Worker": worker}})


def other(name: str, workers: int) -> Object:
    """A TFJob that holds its devices until it is deleted."""
    container: Object = {"name": "tensorflow", "image": "example", "command": ["sleep", "3600"]}
    container["resources"] = {"limits": {DEVICE: 1}}
    template = {"spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}
    spec = {"replicas": workers, "restartPolicy": "Never", "template": template}
    specs = {"tfReplicaSpecs": {"Worker": spec}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": name}, "spec": specs}
