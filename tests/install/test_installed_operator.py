"""The Deployment of the chart runs: `helm install` on a real control plane with `traincrew node` as its kubelet.

The pod of the operator has the rendered command, arguments, environment, security context and service account token. The
kubelet maps its image to the traincrew of this source tree.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.cluster import audit, manifests
from tests.cluster.api import Object, eventually
from tests.install.helm import CHART, IMAGE, Helm
from tests.install.test_helm_release import earlier_chart
from tests.node import joined_node, pod_programs
from tests.node.joined_node import JoinedNode
from tests.node.local_cluster import python_for

from traincrew import __version__

LONG = 180.0
OPERATOR_USER = 65532


@pytest.fixture(scope="module")
def machine() -> Iterator[JoinedNode]:
    with joined_node.own_control_plane() as kube:
        node = JoinedNode(kube)
        try:
            _map_image(node)
            yield node.up()
        finally:
            node.close()


def _map_image(node: JoinedNode) -> None:
    program, variables = python_for(OPERATOR_USER)
    entry = {
        "pattern": "registry.example.com/team/traincrew",
        "command": [program, "-m", "traincrew.cli.main"],
        "variables": variables,
    }
    node.data.mkdir(mode=0o700, exist_ok=True)
    (node.data / "images.yaml").write_text(yaml.safe_dump({"version": 1, "images": [entry]}))


@pytest.fixture(scope="module")
def helm(machine: JoinedNode, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(tmp_path_factory.mktemp("helm"), machine.kube.kubeconfig)


def operators(machine: JoinedNode) -> list[Object]:
    pods = machine.api.all("pods", "kubeflow", labels="name=tf-job-operator")
    return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]


def ready(machine: JoinedNode, tag: str, count: int = 1) -> bool:
    """All operators have this tag and are ready."""
    found = [(pod["spec"]["containers"][0]["image"].endswith(f":{tag}"), _is_ready(pod)) for pod in operators(machine)]
    return found == [(True, True)] * count


def _is_ready(pod: Object) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions") or ())


def wait_ready(machine: JoinedNode, tag: str, count: int = 1) -> None:
    try:
        eventually(lambda: ready(machine, tag, count), LONG)
    except AssertionError:
        pods = machine.api.all("pods", "kubeflow")
        logs = [
            machine.logs(pod["metadata"]["name"], "kubeflow")[-3000:] for pod in pods if pod["status"].get("phase") == "Running"
        ]
        pytest.fail("\n".join(["the operator is not ready", *(str(pod["status"]) for pod in pods), *logs, machine.log()]))


def succeeded(machine: JoinedNode, name: str) -> bool:
    conditions = machine.api.get("pytorchjobs", "default", name).get("status", {}).get("conditions") or []
    return any(each["type"] == "Succeeded" and each["status"] == "True" for each in conditions)


def job(machine: JoinedNode, name: str, command: str) -> Object:
    replicas = manifests.replicas("PyTorchJob", 1, "Never", command=["sh", "-c", command], **pod_programs.mounts())
    replicas["template"]["spec"] |= pod_programs.volumes(machine)
    roles: dict[str, Any] = {"Master": replicas, "Worker": replicas}
    return manifests.job("PyTorchJob", name, run={"cleanPodPolicy": "None"}, **roles)


def events(machine: JoinedNode, name: str) -> list[tuple[str, str, int]]:
    found = [each for each in machine.api.all("events", "default") if each["involvedObject"]["name"] == name]
    return sorted((each["reason"], each["message"], each.get("count") or 1) for each in found)


def test_a_job_runs_through_the_installed_operator_and_an_upgrade_disturbs_no_running_job(
    machine: JoinedNode, helm: Helm, tmp_path: pathlib.Path
) -> None:
    helm.succeed("install", "traincrew", earlier_chart(tmp_path), IMAGE)
    wait_ready(machine, "0.0.9")
    eventually(lambda: machine.api.all("pytorchjobs", "default") == [])  # a new definition is served after a moment
    machine.create(job(machine, "short", "echo trained"))
    eventually(lambda: succeeded(machine, "short"), LONG)
    assert machine.logs("short-master-0") == "trained\n"

    over = pod_programs.notes_directory(machine) / "over"
    machine.create(job(machine, "long", f"until [ -e {pod_programs.NOTES}/over ]; do sleep 0.2; done"))
    for name in ("long-master-0", "long-worker-0"):
        machine.running(name)
    before = {name: machine.pod(name)["metadata"]["uid"] for name in ("long-master-0", "long-worker-0")}
    recorded = events(machine, "long")
    helm.succeed("upgrade", "traincrew", CHART, "--reuse-values", "--set=replicas=2")
    wait_ready(machine, __version__, count=2)
    assert {name: machine.pod(name)["metadata"]["uid"] for name in before} == before
    assert events(machine, "long") == recorded, "an upgrade repeats no event"

    over.touch()
    eventually(lambda: succeeded(machine, "long"), LONG)
    statuses = [machine.pod(name)["status"]["containerStatuses"][0]["restartCount"] for name in before]
    assert statuses == [0, 0]
    assert audit.forbidden(audit.requests(machine.kube, "kubeflow:traincrew")) == []
    helm.succeed("uninstall", "traincrew")
    assert machine.api.find("pytorchjobs", "default", "long")
    assert {name: machine.pod(name)["metadata"]["uid"] for name in before} == before


def test_the_log_of_the_operator_is_found_as_seed_002_reads_it(machine: JoinedNode, helm: Helm) -> None:
    helm.succeed("upgrade", "--install", "traincrew", CHART, IMAGE)
    wait_ready(machine, __version__)
    select = ("get", "pods", "-n", "kubeflow", "--selector=name=tf-job-operator", "-o", "jsonpath={.items[0].metadata.name}")
    name = machine.kube.kubectl(*select).stdout
    log = machine.kube.kubectl("-n", "kubeflow", "logs", name)
    assert "starting workers" in log.stdout, log.stderr
