"""The node agent as a node of a real Kubernetes: jobs of each kind to their end, and what a control plane does with a node."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster import audit, installation, operators
from tests.cluster.api import Object, consistently, eventually
from tests.node import framework_free_jobs, joined_node, pod_programs
from tests.node.joined_node import JoinedNode
from tests.node.kubectl import Kubectl
from tests.node.local_cluster import pod, terminated
from tools.frameworks import ssh
from tools.kube import build

LONG = 90.0


@pytest.fixture(scope="module")
def machine() -> Iterator[JoinedNode]:
    """With the operator, which has the rights that are shipped."""
    with joined_node.joined_node() as found:
        installation.crds(found.kube)
        with operators.running(installation.rights(found.kube)):
            yield found


@pytest.fixture
def kubectl(machine: JoinedNode) -> Kubectl:
    return Kubectl(build.program("kubectl"), machine.kube.kubeconfig)


def _succeeded(machine: JoinedNode, plural: str, name: str, version: str = "v1") -> Object:
    def look() -> Any:
        job = machine.api.get(plural, "default", name, version=version)
        if pod_programs.condition(job, "Failed"):
            pytest.fail(_describe(machine, job))
        return pod_programs.condition(job, "Succeeded") and job

    try:
        found: Object = eventually(look, LONG)
    except AssertionError:
        pytest.fail(_describe(machine, machine.api.get(plural, "default", name, version=version)))
    return found


def _describe(machine: JoinedNode, job: Object) -> str:
    """Everything that helps to see why a job did not come to the end it should."""
    pods = machine.api.all("pods", "default", labels=f"training.kubeflow.org/job-name={job['metadata']['name']}")
    names = [each["metadata"]["name"] for each in pods]
    statuses = [f"{name}: {each['status']}" for name, each in zip(names, pods, strict=True)]
    logs = [f"{name} said: {machine.logs(name)}" for name in names]
    return "\n".join([f"{job['status']}", *statuses, *logs, machine.log()])


def test_jobs_keep_communicating_while_the_kubelet_is_killed(machine: JoinedNode) -> None:
    over = pod_programs.notes_directory(machine) / "over"
    machine.create(
        pod_programs.pytorch(machine, "ddp", pod_programs.EXCHANGE), pod_programs.mpi(machine, "replicas", pod_programs.LAUNCHER)
    )
    pods = ("ddp-master-0", "ddp-worker-0", "ddp-worker-1", "replicas-launcher")
    for name in pods:
        machine.running(name)
    eventually(lambda: "step 20\n" in machine.logs("ddp-worker-1"))
    pod_programs.wait_for_remote_commands(machine, "replicas-worker-0", "replicas-worker-1")
    machine.kill()
    machine.up()
    over.touch()
    jobs = _succeeded(machine, "pytorchjobs", "ddp"), _succeeded(machine, "mpijobs", "replicas")
    assert all("restarts" not in job["status"] for job in jobs)
    assert {name: pod_programs.starts(machine, name) for name in pods} == dict.fromkeys(pods, 1)
    for name in pods[:3]:
        *steps, last = machine.logs(name).splitlines()
        assert steps == [f"step {20 * number}" for number in range(len(steps))]
        assert last.startswith("steps ")


def test_the_roles_of_a_tfjob_connect_by_tf_config(machine: JoinedNode) -> None:
    machine.create(framework_free_jobs.tensorflow("tf"))
    _succeeded(machine, "tfjobs", "tf")
    assert machine.logs("tf-chief-0") == "chief 0 heard 31\n"
    for number in range(2):
        machine.ended(f"tf-worker-{number}")
        assert machine.logs(f"tf-worker-{number}") == f"worker {number} heard 31\n"
    assert machine.pod("tf-ps-0")["status"]["phase"] == "Running"
    machine.api.delete("tfjobs", "default", "tf")
    machine.gone("tf-ps-0", seconds=LONG)  # Kubernetes' garbage collector learns of a new kind only every 30 seconds


def test_an_mpijobs_launcher_reaches_its_workers_by_exec_and_no_other_pod(machine: JoinedNode) -> None:
    machine.create(pod("bystander", "sleep", "600"))
    machine.running("bystander")
    machine.create(framework_free_jobs.mpi("by-exec", "bystander"))
    _succeeded(machine, "mpijobs", "by-exec")
    said = [line for line in machine.logs("by-exec-launcher").splitlines() if not line.startswith("+ ")]
    *ranks, code, rejection, last = said
    assert ranks == [f"rank at by-exec-worker-{each} in /" for each in range(2)]
    assert code == "code 5"
    assert 'serviceaccount:default:by-exec-launcher" cannot create resource "pods/exec"' in rejection
    assert last == "bystander 1"


def test_an_mpijobs_launcher_reaches_its_workers_by_ssh(machine: JoinedNode) -> None:
    programs = () if os.path.exists("/usr/sbin/sshd") else ssh.unpacked(machine.home / "sshd")
    machine.create(framework_free_jobs.mpi_by_ssh("by-ssh", programs))
    _succeeded(machine, "mpijobs", "by-ssh", version="v2beta1")
    (launcher,) = machine.api.all("pods", "default", labels="batch.kubernetes.io/job-name=by-ssh-launcher")
    said = [line for line in machine.logs(launcher["metadata"]["name"]).splitlines() if not line.startswith("ssh:")]
    assert said == [f"rank at by-ssh-worker-{each}" for each in range(2)]
    batch = machine.api.get("jobs", "default", "by-ssh-launcher")
    assert batch["status"]["succeeded"] == 1


def test_the_token_of_a_pod_is_its_own_and_grants_nothing_by_itself(machine: JoinedNode, kubectl: Kubectl) -> None:
    """The real kubectl in a pod, which finds the API server and its rights as on any cluster."""
    machine.create(pod("closed", "sleep", "600"))
    machine.running("closed")
    machine.create(pod("curious", str(kubectl.program), "exec", "closed", "--", "true"))
    assert machine.ended("curious")["status"]["phase"] == "Failed"
    (rejection,) = machine.logs("curious").splitlines()
    assert 'User "system:serviceaccount:default:default" cannot ' in rejection
    assert rejection.startswith("Error from server (Forbidden)")


def test_the_node_is_ready_and_its_lease_is_renewed(machine: JoinedNode) -> None:
    def renewed() -> str:
        lease = machine.api.get("leases", "kube-node-lease", machine.name)
        assert lease["spec"]["holderIdentity"] == machine.name
        (owner,) = lease["metadata"]["ownerReferences"]
        assert owner["uid"] == _node(machine)["metadata"]["uid"]
        return str(lease["spec"]["renewTime"])

    before = renewed()
    eventually(lambda: renewed() > before)
    conditions = {each["type"]: each["status"] for each in _node(machine)["status"]["conditions"]}
    usual = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
    assert usual.items() <= conditions.items()


def _node(machine: JoinedNode) -> Object:
    return machine.api.call("GET", f"/api/v1/nodes/{machine.name}")


def test_a_node_is_drained_and_takes_pods_again(machine: JoinedNode, kubectl: Kubectl) -> None:
    machine.create(pod("drained", "sh", "-c", "trap 'echo terminating; exit 0' TERM; while :; do sleep 0.05; done"))
    uid = machine.running("drained")["metadata"]["uid"]
    message = kubectl("drain", machine.name, "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
    assert "pod/drained evicted" in message
    assert machine.api.find("pods", "default", "drained") is None
    (kept,) = machine.data.glob(f"logs/default_drained_{uid}/main/0.log")
    assert kept.read_text().endswith("terminating\n")
    machine.create(pod("after", "true"))
    eventually(lambda: any(each[0] == "FailedScheduling" for each in machine.events("after")))
    kubectl("uncordon", machine.name)
    assert machine.ended("after")["status"]["phase"] == "Succeeded"


def test_pods_of_another_node_are_not_touched(machine: JoinedNode) -> None:
    machine.api.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "elsewhere"}})
    machine.create(pod("theirs", "true", nodeName="elsewhere"))
    machine.create(pod("ours", "true"))
    machine.ended("ours")
    machine.api.delete("pods", "default", "theirs")
    consistently(lambda: "containerStatuses" not in machine.pod("theirs")["status"])
    uid = machine.pod("theirs")["metadata"]["uid"]
    assert not (machine.data / "node" / "pods" / uid).exists()
    machine.api.delete("pods", "default", "theirs", grace=0)
    machine.api.call("DELETE", "/api/v1/nodes/elsewhere")


def test_pods_keep_running_while_the_api_server_is_down(machine: JoinedNode) -> None:
    over = pod_programs.notes_directory(machine) / "back"
    script = f"until [ -e {pod_programs.NOTES}/back ]; do sleep 0.05; done; exit 9"
    machine.create(pod("patient", "sh", "-c", script, **pod_programs.volumes(machine), **pod_programs.mounts()))
    machine.running("patient")
    machine.kube.kill_apiserver()
    over.touch()
    machine.kube.start_apiserver()
    ended = machine.ended("patient")
    assert (terminated(ended)["exitCode"], ended["status"]["containerStatuses"][0]["restartCount"]) == (9, 0)
    machine.create(pod("later", "true"))
    assert machine.ended("later")["status"]["phase"] == "Succeeded"


def test_node_conditions_of_other_components_are_kept(machine: JoinedNode) -> None:
    message = {"type": "example.com/Sound", "status": "True", "reason": "Heard", "message": "by somebody else"}
    body = {"status": {"conditions": [message]}}
    machine.api.call("PATCH", f"/api/v1/nodes/{machine.name}/status", body, "application/strategic-merge-patch+json")
    machine.kill()
    machine.up()
    types = {each["type"] for each in _node(machine)["status"]["conditions"]}
    assert {"Ready", "example.com/Sound"} <= types


def test_a_deleted_node_is_registered_again(machine: JoinedNode) -> None:
    before = _node(machine)["metadata"]["uid"]
    machine.api.call("DELETE", f"/api/v1/nodes/{machine.name}")
    eventually(lambda: _node(machine)["metadata"]["uid"] != before)
    eventually(lambda: not _node(machine)["spec"].get("taints"))
    machine.create(pod("anew", "true"))
    assert machine.ended("anew")["status"]["phase"] == "Succeeded"


def test_the_rights_of_a_kubelet_are_enough(machine: JoinedNode) -> None:
    machine.create(pod("modest", "true"))
    machine.ended("modest")
    user = f"system:node:{machine.name}"
    asked = [each for each in audit.requests_of_user(machine.kube, user) if each["stage"] == "ResponseComplete"]
    assert {"pods", "nodes", "leases", "serviceaccounts"} <= {each["objectRef"]["resource"] for each in asked}
    # The Node authorizer learns of a pod a moment after the node does. What was refused is granted soon, but not always to the
    # same request: a status that conflicted is written with the object that the watch has delivered, and not read a second time.
    refused = {_object(each) for each in asked if each["responseStatus"]["code"] == 403}
    assert refused <= {_object(each) for each in asked if each["responseStatus"]["code"] < 300}


def _object(entry: Object) -> tuple[str, ...]:
    """The object that an entry of the audit log is about."""
    reference = entry["objectRef"]
    return tuple(reference.get(key, "") for key in ("resource", "namespace", "name"))
