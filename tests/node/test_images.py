"""Images map to environments, and the init containers of operators find their tools with any image name."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster.api import Object, eventually
from tests.node.local_cluster import LocalCluster, pod


def job(kind: str, name: str, field: str, **roles: Object) -> Object:
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name}, "spec": {field: roles}}


def replicas(count: int, container: Object) -> Object:
    return {"replicas": count, "template": {"spec": {"containers": [{"image": "any/thing:1", **container}]}}}


def mpi(name: str, script: str) -> Object:
    launcher = replicas(1, {"name": "mpi", "command": ["sh", "-c", script]})
    mpi_job = job("MPIJob", name, "mpiReplicaSpecs", Launcher=launcher, Worker=replicas(2, {"name": "mpi"}))
    mpi_job["spec"] |= {"slotsPerWorker": 1, "runPolicy": {"cleanPodPolicy": "None"}}
    return mpi_job


def test_an_image_runs_in_the_environment_that_it_is_mapped_to(cluster: LocalCluster) -> None:
    prefix = cluster.home / "prefix"
    (prefix / "bin").mkdir(parents=True)
    program = prefix / "bin" / "greets"
    program.write_text('#!/bin/sh\necho "$GREETING from $(pwd): $*"\n')
    for each in (prefix, prefix / "bin", program):
        each.chmod(0o755)
    cluster.traincrew(
        "image",
        "set",
        "my/greeter:*",
        "--env-dir",
        str(prefix),
        "--workdir",
        "/usr",
        "--command",
        "greets",
        "--env",
        "GREETING=hello",
    )
    cluster.create(pod("greets", image="my/greeter:7", args=["you"]))
    assert cluster.ended("greets")["status"]["phase"] == "Succeeded"
    assert cluster.logs("greets") == "hello from /usr: you\n"
    cluster.traincrew("image", "rm", "my/greeter:*")
    cluster.create(pod("greets-no-more", "greets", image="my/greeter:7"))
    assert cluster.ended("greets-no-more")["status"]["phase"] == "Failed"


def test_workers_of_a_pytorch_job_wait_for_the_name_of_the_master(cluster: LocalCluster) -> None:
    names = "import socket; print(bool(socket.gethostbyname('named-master-0')))"
    master = replicas(1, {"name": "pytorch", "command": ["sleep", "300"]})
    worker = replicas(1, {"name": "pytorch", "command": ["python3", "-c", names]})
    cluster.create(job("PyTorchJob", "named", "pytorchReplicaSpecs", Master=master, Worker=worker))
    assert cluster.ended("named-worker-0")["status"]["phase"] == "Succeeded"
    assert cluster.logs("named-worker-0", container="pytorch") == "True\n"
    cluster.api.delete("pytorchjobs", "default", "named")


def test_a_launcher_runs_commands_on_its_workers_and_gets_their_exit_codes(cluster: LocalCluster) -> None:
    script = """
for worker in reach-worker-0 reach-worker-1; do /etc/mpi/kubexec.sh $worker 'hostname; echo $0' 2>/dev/null; done
/etc/mpi/kubexec.sh reach-worker-0 'exit 3' 2>/dev/null; echo "code $?"
head -c 5000000 /dev/zero | /opt/kube/kubectl exec -i reach-worker-0 -- sh -c 'wc -c'
/opt/kube/kubectl exec elsewhere -- true 2>&1; echo "code $?"
"""
    cluster.create(mpi("reach", script))
    assert cluster.ended("reach-launcher", within=90)["status"]["phase"] == "Succeeded", cluster.logs("reach-launcher")
    assert cluster.logs("reach-launcher").splitlines() == [
        "reach-worker-0", "/bin/sh", "reach-worker-1", "/bin/sh", "code 3", "5000000",
        'Error from server (Forbidden): pods "elsewhere" is forbidden: User "system:serviceaccount:default:reach-launcher" '
        'cannot create resource "pods/exec" in API group "" in the namespace "default"', "code 1",
    ]  # fmt: skip


def test_commands_of_a_launcher_survive_a_killed_daemon(cluster: LocalCluster) -> None:
    word = cluster.home / "go"
    word.mkdir()
    word.chmod(0o777)
    script = "/etc/mpi/kubexec.sh outlive-worker-0 'echo begun; until [ -e /go/on ]; do sleep 0.05; done; echo ended' 2>/dev/null"
    mpi_job = mpi("outlive", script)
    template = mpi_job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    template["volumes"] = [{"name": "go", "hostPath": {"path": str(word)}}]
    template["containers"][0]["volumeMounts"] = [{"name": "go", "mountPath": "/go"}]
    cluster.create(mpi_job)
    eventually(lambda: "begun" in cluster.logs("outlive-launcher"), 60)
    cluster.kill()
    (word / "on").touch()
    ended_alone = cluster.data / "logs"
    eventually(lambda: "ended" in _log(ended_alone, "outlive-launcher"))
    cluster.up()
    assert cluster.ended("outlive-launcher")["status"]["phase"] == "Succeeded"
    assert cluster.logs("outlive-launcher") == "begun\nended\n"


def _log(logs: pathlib.Path, pod: str) -> str:
    return "".join(path.read_text() for path in logs.glob(f"default_{pod}_*/mpi/0.log"))


def test_a_launcher_that_is_not_root_reaches_its_workers(cluster: LocalCluster) -> None:
    if cluster.level != "root":
        pytest.skip("without root there is one user only")
    mpi_job = mpi("plain", "id -u; /opt/kube/kubectl exec plain-worker-0 -- hostname")
    launcher = mpi_job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
    launcher["securityContext"] = {"runAsUser": 1234}
    cluster.create(mpi_job)
    cluster.ended("plain-launcher", within=90)
    assert cluster.logs("plain-launcher") == "1234\nplain-worker-0\n"


@pytest.fixture
def strict() -> Iterator[LocalCluster]:
    cluster = LocalCluster("root" if os.geteuid() == 0 else "user")
    try:
        yield cluster.up("--strict-images")
    finally:
        cluster.close()


def test_with_strict_images_an_unknown_image_waits_with_the_remedy_in_its_event(strict: LocalCluster) -> None:
    strict.create(pod("unknown", "true", image="my/own:1"))

    def waiting() -> Object:
        found: Object = strict.pod("unknown")["status"]["containerStatuses"][0]["state"]["waiting"]
        return found

    eventually(lambda: waiting()["reason"] in ("ErrImagePull", "ImagePullBackOff"))
    text = " ".join(message for _, message in strict.events("unknown"))
    assert "traincrew image set my/own:1 --env-dir DIR" in text
    strict.create(mpi("strict", "true"))
    eventually(lambda: "kubectl" in " ".join(message for _, message in strict.events("strict-launcher")))


_SERVE = """import socket, time
time.sleep(1)
server = socket.create_server(("", 2222), backlog=64)
while True:
    server.accept()[0].close()"""
_CONNECT = """import socket
for line in open("/etc/mpi/hostfile"):
    socket.create_connection((line.split()[0], 2222), 5).close()
    print("reached", line.split(".")[0])"""


def test_the_launcher_of_a_v2beta1_mpi_job_starts_when_all_its_workers_listen(cluster: LocalCluster) -> None:
    """Its first connection to each worker succeeds, although the workers listen a second after they start."""
    launcher = replicas(1, {"name": "mpi", "command": ["python3", "-c", _CONNECT]}) | {"restartPolicy": "Never"}
    worker = replicas(2, {"name": "mpi", "command": ["python3", "-c", _SERVE]})
    body = job("MPIJob", "listening", "mpiReplicaSpecs", Launcher=launcher, Worker=worker) | {
        "apiVersion": "kubeflow.org/v2beta1"
    }
    body["spec"] |= {"runPolicy": {"backoffLimit": 0}}
    cluster.create(body)
    eventually(lambda: _is_finished(cluster, "listening"), 60)
    assert cluster.api.get("jobs", "default", "listening-launcher")["status"].get("failed", 0) == 0
    (found,) = cluster.api.all("pods", "default", labels="batch.kubernetes.io/job-name=listening-launcher")
    assert cluster.logs(found["metadata"]["name"]) == "reached listening-worker-0\nreached listening-worker-1\n"


def _is_finished(cluster: LocalCluster, name: str) -> bool:
    conditions = cluster.api.get("mpijobs", "default", name, version="v2beta1").get("status", {}).get("conditions", [])
    return any(each["type"] in ("Succeeded", "Failed") and each["status"] == "True" for each in conditions)
