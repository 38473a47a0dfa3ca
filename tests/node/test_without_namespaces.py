"""Level `none`: pods are plain processes in the host's network. The replicas of a job connect to each other only."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster.api import Object, eventually
from tests.node.conftest import started
from tests.node.local_cluster import LocalCluster, pod, terminated
from tests.node.pod_programs import condition, wait_for_success

_CONNECT = """
import json, os, socket, sys, time
def connect(host, port):
    while True:
        try:
            return socket.create_connection((host, port), 5)
        except OSError:
            time.sleep(0.05)
"""
STAR = (
    _CONNECT
    + """
job, (address, number, rank, world) = sys.argv[1], (os.environ[name] for name in sys.argv[2:6])
rank, world, number = int(rank), int(world), int(number)
if rank == 0:
    listener = socket.create_server((address, number))
    peers = [listener.accept()[0].makefile("rw", buffering=1) for _ in range(world - 1)]
    received = [peer.readline().split() for peer in peers]
    assert all(name == job for name, _ in received), received
    total = sum(int(value) for _, value in received)
    for peer in peers:
        peer.write(f"{total}\\n")
else:
    peer = connect(address, number).makefile("rw", buffering=1)
    peer.write(f"{job} {rank}\\n")
    total = int(peer.readline())
while len(sys.argv) > 6 and not os.path.exists(sys.argv[6]):
    time.sleep(0.05)
print(address, number, total, flush=True)
"""
)
"""Every replica connects to the first and sends the name of its job. The first replies with the sum."""

CLUSTER = (
    _CONNECT
    + """
job, config = sys.argv[1], json.loads(os.environ["TF_CONFIG"])
own = f"{job} {config['task']['type']} {config['task']['index']}"
members = [(role, index, *at.split(":")) for role, ats in config["cluster"].items() for index, at in enumerate(ats)]
port = next(int(port) for role, index, _, port in members if own == f"{job} {role} {index}")
listener = socket.create_server(("", port))
mine = [connect(host, int(port)) for role, index, host, port in members]
for _ in members:
    client, _ = listener.accept()
    client.sendall(own.encode() + b"\\n")
met = [each.makefile().readline().strip() for each in mine]
assert met == [f"{job} {role} {index}" for role, index, _, _ in members], met
print("met", len(met), flush=True)
"""
)
"""Every replica connects to every other, at the addresses in TF_CONFIG."""

TORCH = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
JAX = ("COORDINATOR_ADDRESS", "COORDINATOR_PORT", "PROCESS_ID", "NUM_PROCESSES")
FIELDS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
CONTAINERS = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "JAXJob": "jax", "XGBoostJob": "xgboost"}


@pytest.fixture(scope="module")
def bare() -> Iterator[LocalCluster]:
    yield from started("none")


def job(kind: str, name: str, command: list[str], roles: dict[str, int], **spec: Any) -> Object:
    container = {"name": CONTAINERS[kind], "image": "example", "command": command}
    template = {"spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec}}
    specs = {role: {"replicas": count, "restartPolicy": "Never", "template": template} for role, count in roles.items()}
    return {
        "apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name},
        "spec": {"runPolicy": {"cleanPodPolicy": "None"}, FIELDS[kind]: specs},
    }  # fmt: skip


def star(kind: str, name: str, variables: tuple[str, ...], *until: str, **roles: int) -> Object:
    return job(kind, name, ["python3", "-c", STAR, name, *variables, *until], roles)


def ports(bare: LocalCluster, plural: str, name: str) -> list[int]:
    job_object = bare.api.get(plural, "default", name)
    return [port for each in job_object.get("status", {}).get("hostPorts", {}).values() for port in each]


def test_two_concurrent_pytorch_jobs_do_not_connect_to_each_other(bare: LocalCluster) -> None:
    names = ("torch-a", "torch-b")
    bare.create(*(star("PyTorchJob", name, TORCH, Master=1, Worker=2) for name in names))
    for name in names:
        wait_for_success(bare, "pytorchjobs", name)
        pods = [f"{name}-{replica}" for replica in ("master-0", "worker-0", "worker-1")]
        eventually(lambda pods=pods: all(bare.logs(each).strip() for each in pods))  # type: ignore[misc]
        address, number, total = bare.logs(pods[0]).split()
        assert (address, total) == ("127.0.0.1", "3")
        assert {bare.logs(each).strip() for each in pods} == {f"{address} {number} {total}"}
    eventually(lambda: not any(ports(bare, "pytorchjobs", name) for name in names))


def test_a_tensorflow_cluster_has_an_address_for_each_of_its_members(bare: LocalCluster) -> None:
    names, roles = ("tf-a", "tf-b"), {"Chief": 1, "PS": 1, "Worker": 2}
    bare.create(*(job("TFJob", name, ["python3", "-c", CLUSTER, name], roles) for name in names))
    for name in names:
        wait_for_success(bare, "tfjobs", name)
        for replica in ("chief-0", "ps-0", "worker-0", "worker-1"):
            assert bare.ended(f"{name}-{replica}")["status"]["phase"] == "Succeeded", bare.logs(f"{name}-{replica}")
            assert bare.logs(f"{name}-{replica}") == "met 4\n"


def test_jax_and_xgboost_connect_to_their_coordinator(bare: LocalCluster) -> None:
    bare.create(star("JAXJob", "jax", JAX, Worker=3), star("XGBoostJob", "boost", TORCH, Master=1, Worker=2))
    wait_for_success(bare, "jaxjobs", "jax")
    wait_for_success(bare, "xgboostjobs", "boost")


def test_a_worker_waits_until_its_master_is_ready(bare: LocalCluster) -> None:
    slow_job = star("PyTorchJob", "slow", TORCH, Master=1, Worker=1)
    gate = bare.home / "open"
    (master,) = slow_job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    slow_job["spec"]["pytorchReplicaSpecs"]["Master"]["template"] = {
        "spec": {
            "containers": [{**master, "readinessProbe": {"exec": {"command": ["test", "-e", str(gate)]}, "periodSeconds": 1}}]
        }
    }
    bare.create(slow_job)
    eventually(lambda: "waiting for master slow-master-0" in bare.logs("slow-worker-0", container="init-pytorch"))
    gate.touch()
    wait_for_success(bare, "pytorchjobs", "slow")


def test_allocated_ports_survive_a_killed_daemon(bare: LocalCluster) -> None:
    over = bare.home / "over"
    bare.create(star("PyTorchJob", "lasting", TORCH, str(over), Master=1, Worker=1))
    eventually(lambda: condition(bare.api.get("pytorchjobs", "default", "lasting"), "Running"))
    before = ports(bare, "pytorchjobs", "lasting")
    assert len(set(before)) == 2
    bare.kill()
    bare.up()
    bare.create(star("PyTorchJob", "later", TORCH, str(over), Master=1, Worker=1))
    eventually(lambda: len(ports(bare, "pytorchjobs", "later")) == 2)
    assert ports(bare, "pytorchjobs", "lasting") == before
    assert not set(before) & set(ports(bare, "pytorchjobs", "later"))
    over.touch()
    for name in ("lasting", "later"):
        wait_for_success(bare, "pytorchjobs", name)


def test_a_port_in_use_is_not_allocated(bare: LocalCluster) -> None:
    with contextlib.ExitStack() as stack:
        bare.create(star("JAXJob", "before", JAX, Worker=1))
        wait_for_success(bare, "jaxjobs", "before")
        taken = set()
        for port in range(20000, 30000, 7):
            with contextlib.suppress(OSError):
                listener = stack.enter_context(socket.create_server(("127.0.0.1", port)))
                taken.add(listener.getsockname()[1])
        over = bare.home / "let-go"
        bare.create(star("JAXJob", "around", JAX, str(over), Worker=12))
        eventually(lambda: len(ports(bare, "jaxjobs", "around")) == 12)
        assert not taken & set(ports(bare, "jaxjobs", "around"))
        over.touch()
        wait_for_success(bare, "jaxjobs", "around")


def test_an_impossible_mount_fails_the_pod_with_its_reason(bare: LocalCluster) -> None:
    volumes = [{"name": "cache", "emptyDir": {}}]
    mounts = [{"name": "cache", "mountPath": "/brand/new/cache"}]
    bare.create(pod("mounts", "true", volumes=volumes, volumeMounts=mounts))
    message = terminated(bare.ended("mounts"))
    assert message["reason"] == "StartError"
    assert "cannot mount a volume at /brand/new/cache" in message["message"]
    assert 'isolation level "none" has no mount namespaces' in message["message"]


def test_a_host_path_can_be_mounted_at_its_own_path(bare: LocalCluster) -> None:
    (bare.home / "shared").mkdir()
    volumes = [{"name": "shared", "hostPath": {"path": str(bare.home / "shared")}}]
    mounts = [{"name": "shared", "mountPath": str(bare.home / "shared")}]
    bare.create(pod("shares", "touch", str(bare.home / "shared" / "it"), volumes=volumes, volumeMounts=mounts))
    assert bare.ended("shares")["status"]["phase"] == "Succeeded"
    assert (bare.home / "shared" / "it").exists()


def test_an_mpi_job_fails_with_the_missing_feature_as_the_reason(bare: LocalCluster) -> None:
    container = {"name": "mpi", "image": "example", "command": ["true"]}
    replica = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    specs = {"Launcher": replica, "Worker": replica}
    bare.create({
        "apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": {"name": "mpi"}, "spec": {"mpiReplicaSpecs": specs},
    })  # fmt: skip
    eventually(lambda: condition(bare.api.get("mpijobs", "default", "mpi"), "Failed"))
    failure = bare.api.get("mpijobs", "default", "mpi")["status"]["failure"]
    assert "cannot mount a volume at" in failure["message"]
    assert "cannot mount a volume at" in bare.traincrew("why", "mpi", check=False).stdout


def test_service_names_in_variables_are_replaced_by_localhost(bare: LocalCluster) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "store"}, "spec": {"clusterIP": "None"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "places"}, "data": {"URL": "http://store:9000/x"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "word"}, "stringData": {"PASSWORD": "store"}}
    bare.create(service, config, secret)
    env = [
        {"name": "ADDRESS", "value": "store.default.svc:9000"},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "BOTH", "value": "$(NAME)@$(ADDRESS)"},
    ]
    sources = [{"configMapRef": {"name": "places"}}, {"secretRef": {"name": "word"}}]
    show = 'echo "$URL $PASSWORD $ADDRESS $NAME $BOTH $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"'
    bare.create(pod("store", "sh", "-c", show, env=env, envFrom=sources))
    assert bare.ended("store")["status"]["phase"] == "Succeeded"
    api = bare.api.server.removeprefix("https://")
    assert bare.logs("store").split() == [
        "http://127.0.0.1:9000/x",
        "store",
        "127.0.0.1:9000",
        "store",
        "store@127.0.0.1:9000",
        api,
    ]
