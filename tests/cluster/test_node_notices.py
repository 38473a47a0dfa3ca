"""Nodes of a real Kubernetes that announce their end: the workers of an elastic job leave them in order, and the job runs on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster import installation, operators
from tests.cluster.api import Object, eventually
from tests.node import joined_node, pod_programs
from tests.node.joined_node import JoinedNode
from tests.node.kubectl import Kubectl
from tools.kube import build, cluster, prepared_data

LONG = 120.0
ELASTIC = "sleep 86400 # horovodrun -np 2 --min-np 1 --max-np 4 --host-discovery-script /etc/mpi/discover_hosts.sh"
SHUTTING_DOWN = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "node is shutting down"}
Nodes = tuple[JoinedNode, JoinedNode]


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.Cluster]:
    with joined_node.own_control_plane() as kube:
        installation.crds(kube)
        rights = installation.rights(kube)
        done = kube.kubectl("apply", f"--kustomize={prepared_data.MANIFESTS / 'sharing'}")
        assert done.returncode == 0, done.stderr
        with operators.running(rights):
            yield kube


@pytest.fixture(scope="module")
def nodes(kube: cluster.Cluster) -> Iterator[Nodes]:
    with contextlib.ExitStack() as stack:
        found = [JoinedNode(kube, name) for name in ("steady", "spot")]
        for machine in found:
            stack.callback(machine.close)
            machine.up()
        yield found[0], found[1]


@pytest.fixture
def kubectl(kube: cluster.Cluster) -> Kubectl:
    return Kubectl(build.program("kubectl"), kube.kubeconfig)


@pytest.fixture
def job(nodes: Nodes) -> Iterator[str]:
    """A job with its launcher and a worker on the first node, and a worker on the second."""
    steady, spot = nodes
    body = pod_programs.mpi(steady, "notice", "")
    body["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": "yield"}
    launcher, workers = (body["spec"]["mpiReplicaSpecs"][role]["template"] for role in ("Launcher", "Worker"))
    launcher["spec"]["containers"][0]["command"] = ["sh", "-c", ELASTIC]
    launcher["spec"]["nodeSelector"] = {"kubernetes.io/hostname": steady.name}
    workers["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "10m"}}
    workers["metadata"] = {"labels": {"spread": "yes"}}
    term = {"labelSelector": {"matchLabels": {"spread": "yes"}}, "topologyKey": "kubernetes.io/hostname"}
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    workers["spec"]["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    steady.create(body)
    eventually(lambda: _places(steady) == [spot.name, steady.name] and len(_hosts(steady)) == 2, LONG)
    steady.running("notice-launcher")
    yield "notice"
    steady.api.delete("mpijobs", "default", "notice")
    eventually(lambda: not _pods(steady), LONG)


def _pods(machine: JoinedNode) -> list[Object]:
    pods = machine.api.all("pods", "default", labels="training.kubeflow.org/job-name=notice")
    return [pod for pod in pods if "-worker-" in pod["metadata"]["name"]]


def _places(machine: JoinedNode) -> list[str]:
    """The nodes of the workers that exist, also of those that are terminating or not scheduled."""
    return sorted(pod["spec"].get("nodeName", "") for pod in _pods(machine))


def _hosts(machine: JoinedNode) -> list[str]:
    found = machine.api.find("configmaps", "default", "notice-config")
    lines = found["data"]["discover_hosts.sh"].splitlines() if found is not None else []
    return [line.split()[1].partition(":")[0].partition(".again")[0] for line in lines if line.startswith("echo ")]


def _has_moved(machine: JoinedNode, to: JoinedNode) -> bool:
    """Both workers are on one node and in the host list."""
    return _places(machine) == [to.name, to.name] and sorted(_hosts(machine)) == sorted(_names(machine))


def _names(machine: JoinedNode) -> list[str]:
    return [pod["metadata"]["name"] for pod in _pods(machine)]


def _check(machine: JoinedNode, launcher: str) -> None:
    """The job has run on: nothing failed, and the launcher is the same."""
    status: Any = machine.api.get("mpijobs", "default", "notice")["status"]
    assert pod_programs.condition({"status": status}, "Running")
    assert status.get("restarts", {}).get("charged", 0) == 0
    assert machine.pod("notice-launcher")["metadata"]["uid"] == launcher


def test_workers_leave_a_node_with_a_spot_notice(job: str, nodes: Nodes, kubectl: Kubectl) -> None:
    steady, spot = nodes
    launcher = steady.pod("notice-launcher")["metadata"]["uid"]
    taint = "aws-node-termination-handler/spot-itn"
    kubectl("taint", "node", spot.name, f"{taint}=now:NoSchedule")
    try:
        eventually(lambda: _has_moved(steady, steady), LONG)
        _check(steady, launcher)
        resize = steady.api.get("mpijobs", "default", job)["status"]["elastic"]["lastResize"]
        assert (resize["reason"], taint in resize["message"]) == ("Noticed", True)
    finally:
        kubectl("taint", "node", spot.name, f"{taint}-")


def test_workers_leave_a_node_that_is_drained(job: str, nodes: Nodes, kubectl: Kubectl) -> None:
    steady, spot = nodes
    launcher = steady.pod("notice-launcher")["metadata"]["uid"]
    try:
        kubectl("drain", spot.name, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=110s")
        eventually(lambda: _has_moved(steady, steady), LONG)
        _check(steady, launcher)
    finally:
        kubectl("uncordon", spot.name)


def test_workers_leave_a_node_that_shuts_down(job: str, nodes: Nodes, kubectl: Kubectl) -> None:
    """The condition is that of a kubelet whose machine shuts down, written while the kubelet of the test does not."""
    steady, spot = nodes
    launcher = steady.pod("notice-launcher")["metadata"]["uid"]
    kubectl("cordon", spot.name)
    spot.kill()
    try:
        body = {"status": {"conditions": [SHUTTING_DOWN]}}
        steady.api.call("PATCH", f"/api/v1/nodes/{spot.name}/status", body, "application/strategic-merge-patch+json")
        eventually(lambda: sorted(_hosts(steady)) == sorted(_on(steady, steady)) and len(_hosts(steady)) == 2, LONG)
    finally:
        kubectl("uncordon", spot.name)
        spot.up()
    eventually(lambda: _has_moved(steady, steady), LONG)
    _check(steady, launcher)


def _on(machine: JoinedNode, node: JoinedNode) -> list[str]:
    return [pod["metadata"]["name"] for pod in _pods(machine) if pod["spec"].get("nodeName") == node.name]
