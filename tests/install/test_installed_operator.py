"""The Deployment of the chart runs: `helm install` on a real control plane with `traincrew node` as its kubelet.

The pod of the operator has the rendered command, arguments, environment, security context and service account token. The
kubelet maps its image to the traincrew of this source tree.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster import audit, manifests
from tests.cluster.api import Object, eventually
from tests.install import earlier_release, mapped_node
from tests.install.helm import CHART, IMAGE, ROOT, Helm
from tests.node import pod_programs
from tests.node.joined_node import JoinedNode
from tools.kube import build

from traincrew import __version__

LONG = 180.0


@pytest.fixture(scope="module")
def machine(earlier: pathlib.Path) -> Iterator[JoinedNode]:
    with mapped_node.running(earlier) as node:
        yield node


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
    machine: JoinedNode, helm: Helm, earlier: pathlib.Path
) -> None:
    helm.succeed("install", "traincrew", earlier_release.chart(earlier), IMAGE)
    wait_ready(machine, earlier_release.VERSION)
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
    helm.succeed("upgrade", "traincrew", CHART, "--reset-then-reuse-values", "--set=replicas=2")
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
    # An operator that is ready may still wait for the Lease of one that is ending.
    eventually(lambda: "starting workers" in machine.kube.kubectl("-n", "kubeflow", "logs", name).stdout, LONG)


class Shell:
    """Runs the commands of docs/operating.md and docs/install.md as they are written."""

    def __init__(self, machine: JoinedNode) -> None:
        path = f"{build.program('kubectl').parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "KUBECONFIG": str(machine.kube.kubeconfig)}

    def __call__(self, command: str) -> str:
        assert command in documented(), f"no page has `{command}`"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], **self._how(), timeout=LONG, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return str(done.stdout)

    @contextlib.contextmanager
    def forwarding(self, command: str, port: int) -> Iterator[int]:
        """A command `kubectl port-forward … PORT`, with a free port of this machine in place of the same one; yields it."""
        assert f"{command} {port}" in documented()
        process = subprocess.Popen(["env", *command.split(" "), f":{port}"], **self._how())
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"127\.0\.0\.1:(\d+) -> ", line)
            assert found, line
            yield int(found[1])
        finally:
            process.terminate()
            process.communicate()

    def _how(self) -> dict[str, Any]:
        return {"env": self.environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


def documented() -> list[str]:
    pages = [(ROOT / "docs" / name).read_text() for name in ("operating.md", "install.md")]
    return [line.strip() for text in pages for line in text.splitlines()]


@pytest.fixture
def shell(machine: JoinedNode, helm: Helm) -> Shell:
    helm.succeed("upgrade", "--install", "traincrew", CHART, IMAGE)
    wait_ready(machine, __version__)
    return Shell(machine)


def test_the_operator_is_healthy_by_the_commands_of_the_pages(shell: Shell) -> None:
    assert "successfully rolled out" in shell("kubectl -n kubeflow rollout status deployment/traincrew")
    assert readiness(shell).startswith("ok")
    command = [sys.executable, "-m", "traincrew.cli.main", "doctor", "--cluster", "-o", "json"]
    done = subprocess.run(command, env=shell.environment, capture_output=True, text=True, timeout=LONG, check=False)
    grades = {each["subject"]: (each["grade"], each["message"]) for each in json.loads(done.stdout)}
    assert grades.pop("dns")[0] == "warn", "this control plane has no DNS server"
    assert {grade for grade, _ in grades.values()} == {"ok"}, grades
    assert done.returncode == 0


FORWARD = "kubectl -n kubeflow port-forward deployment/traincrew"


def readiness(shell: Shell) -> str:
    written = "curl http://localhost:8081/readyz"
    assert written in documented()
    with shell.forwarding(FORWARD, 8081) as port:
        command = [*written.replace("localhost:8081", f"127.0.0.1:{port}").split(" "), "--fail", "--silent"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONG).stdout


def set_log_level_debug(shell: Shell) -> str:
    """By the commands of the page; the level that the operator then has."""
    written = "curl --request PUT --data debug http://localhost:8081/loglevel"
    assert written in documented()
    with shell.forwarding(FORWARD, 8081) as port:
        command = written.replace("localhost:8081", f"127.0.0.1:{port}").split(" ")
        subprocess.run([*command, "--fail", "--silent"], check=True, timeout=LONG)
        asked = subprocess.run([command[0], "--silent", command[-1]], capture_output=True, text=True, check=True, timeout=LONG)
    return asked.stdout.strip()


def test_the_log_level_is_changed_and_the_lines_of_one_job_are_found_as_the_page_says(machine: JoinedNode, shell: Shell) -> None:
    assert set_log_level_debug(shell) == "debug"
    for name in ("mnist", "mnist-2"):
        machine.create(job(machine, name, "echo trained"))
    for name in ("mnist", "mnist-2"):
        eventually(functools.partial(succeeded, machine, name), LONG)
    command = """kubectl -n kubeflow logs -l app.kubernetes.io/name=traincrew --tail=-1 | grep '"job": "default/mnist"'"""
    lines = [json.loads(line) for line in shell(command).splitlines()]
    assert {line["job"] for line in lines} == {"default/mnist"}
    recorded = {line["event"] for line in lines if line["message"] == "event recorded"}
    stored = eventually(lambda: [each["metadata"]["name"] for each in machine.api.all("events", "default")], LONG)
    assert recorded & set(stored)
