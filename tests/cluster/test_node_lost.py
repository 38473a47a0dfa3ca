"""Nodes of a real Kubernetes that die without a word: the failures that follow belong to their loss."""

from __future__ import annotations

import contextlib
import functools
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster import installation, operators
from tests.cluster.api import Object, eventually
from tests.cluster.operators import OperatorProcess
from tests.node import joined_node, pod_programs
from tests.node.joined_node import JoinedNode
from tools.kube import cluster

HEARTBEAT_LOST = ("--node-monitor-grace-period=14s", "--node-monitor-period=1s")
"""Kubelets renew their leases every ten seconds."""
LONG = 120.0
VICTIM = f"""
until [ -e {pod_programs.NOTES}/end ]; do
  if [ -e {pod_programs.NOTES}/fail-$HOSTNAME ]; then
    rm {pod_programs.NOTES}/fail-$HOSTNAME
    cat {pod_programs.NOTES}/message >&2
    exit 1
  fi
  sleep 0.1
done
"""
PEER_LOST = "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4711\n"
BUG = "ValueError: bad batch\n"


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.Cluster]:
    with joined_node.own_control_plane(*HEARTBEAT_LOST) as kube:
        installation.crds(kube)
        yield kube


@pytest.fixture(scope="module")
def machines(kube: cluster.Cluster) -> Iterator[tuple[JoinedNode, JoinedNode]]:
    with contextlib.ExitStack() as stack:
        found = [JoinedNode(kube, name) for name in ("stays", "dies")]
        for machine in found:
            stack.callback(machine.close)
            machine.up()
        yield found[0], found[1]


@pytest.fixture
def operator(kube: cluster.Cluster) -> Iterator[OperatorProcess]:
    with operators.running(installation.rights(kube)) as process:
        yield process


def _job(machines: tuple[JoinedNode, JoinedNode], name: str) -> Object:
    """A TFJob whose chief is on the first node and whose worker is on the second. Both read the notes of the first."""
    stays, dies = machines
    specs = {}
    for role, node in (("Chief", stays), ("Worker", dies)):
        specs[role] = pod_programs.replica(stays, 1, "tensorflow", "", restartPolicy="Never")
        template = specs[role]["template"]["spec"]
        template["nodeSelector"] = {"kubernetes.io/hostname": node.name}
        template["containers"][0]["command"] = ["sh", "-c", VICTIM]
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": name}, "spec": {"tfReplicaSpecs": specs}}


def _fail(machine: JoinedNode, pod: str, message: str) -> None:
    notes = pod_programs.notes_directory(machine)
    (notes / "message").write_text(message)
    (notes / f"fail-{pod}").touch()


def _status(machine: JoinedNode, name: str) -> Any:
    return machine.api.get("tfjobs", "default", name)["status"]


def _why(machine: JoinedNode, name: str) -> str:
    return str(_status(machine, name).get("why", {}).get("reason", ""))


def test_a_replica_that_fails_before_its_peers_node_is_found_lost_does_not_fail_the_job(
    kube: cluster.Cluster, machines: tuple[JoinedNode, JoinedNode]
) -> None:
    """The operator is killed while the failure waits, and again when the loss has been noticed."""
    stays, dies = machines
    rights = installation.rights(kube)
    with operators.running(rights) as operator:
        stays.create(_job(machines, "silent"))
        before = {name: stays.running(name)["metadata"]["uid"] for name in ("silent-chief-0", "silent-worker-0")}
        dies.kill()
        _fail(stays, "silent-chief-0", PEER_LOST)
        eventually(lambda: _why(stays, "silent") == "NodeMayBeLost", LONG)
        operator.stop(signal.SIGKILL)
    with operators.running(rights) as operator:
        eventually(lambda: _status(stays, "silent").get("restarts", {}).get("disruptions") == 1, LONG)
        operator.stop(signal.SIGKILL)
    with operators.running(rights):
        eventually(lambda: stays.pod("silent-worker-0")["metadata"].get("deletionTimestamp"), LONG)
        dies.up()  # its kubelet ends the pod of the lost attempt
        for name, uid in before.items():
            eventually(functools.partial(_replaced, stays, name, uid), LONG)
        status = _status(stays, "silent")
        assert not pod_programs.condition({"status": status}, "Failed")
        assert status["restarts"].get("charged", 0) == 0
        assert status["restarts"]["disruptions"] == 1
        assert (status["lastFailure"]["reason"], status["lastFailure"]["node"]) == ("NodeLost", "dies")
        stays.api.delete("tfjobs", "default", "silent")


def _replaced(machine: JoinedNode, name: str, uid: str) -> bool:
    found = machine.api.find("pods", "default", name)
    return found is not None and found["metadata"]["uid"] != uid and found["status"].get("phase") == "Running"


def test_a_replica_that_notices_a_loss_late_belongs_to_it(
    operator: OperatorProcess, machines: tuple[JoinedNode, JoinedNode]
) -> None:
    stays, _ = machines
    stays.create(_job(machines, "late"))
    lost = stays.running("late-worker-0")["metadata"]["uid"]
    uid = stays.running("late-chief-0")["metadata"]["uid"]
    stays.api.delete("pods", "default", "late-worker-0", grace=1)
    eventually(lambda: _replaced(stays, "late-worker-0", lost), LONG)
    eventually(lambda: not _status(stays, "late")["restarts"].get("open"), LONG)
    _fail(stays, "late-chief-0", PEER_LOST)
    eventually(lambda: _replaced(stays, "late-chief-0", uid), LONG)
    restarts = _status(stays, "late")["restarts"]
    assert (restarts.get("charged", 0), restarts["disruptions"]) == (0, 1)
    stays.api.delete("tfjobs", "default", "late")


def test_a_bug_fails_the_job_without_a_wait(operator: OperatorProcess, machines: tuple[JoinedNode, JoinedNode]) -> None:
    stays, _ = machines
    stays.create(_job(machines, "bug"))
    for name in ("bug-chief-0", "bug-worker-0"):
        stays.running(name)
    _fail(stays, "bug-chief-0", BUG)
    eventually(lambda: pod_programs.condition({"status": _status(stays, "bug")}, "Failed"), LONG)
    reasons = [each["reason"] for each in stays.api.all("events", "default") if each["involvedObject"]["name"] == "bug"]
    assert "NodeMayBeLost" not in reasons
