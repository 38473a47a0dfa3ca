"""kubectl, a current one and an older one, on pods that the joined node agent runs: through a real kube-apiserver."""

from __future__ import annotations

import http.client
import pathlib
import re
from collections.abc import Iterator

import pytest
from tests.cluster.api import eventually
from tests.node import joined_node
from tests.node.joined_node import JoinedNode
from tests.node.kubectl import Kubectl
from tests.node.local_cluster import pod
from tools.kube import build

OLDER = "1.28"
"""It opens SPDY streams where a current one opens WebSockets."""


@pytest.fixture(scope="module")
def machine() -> Iterator[JoinedNode]:
    with joined_node.joined_node() as found:
        yield found


@pytest.fixture(params=["", OLDER], ids=["current", OLDER])
def kubectl(request: pytest.FixtureRequest, machine: JoinedNode) -> Kubectl:
    return Kubectl(build.program("kubectl", request.param or None), machine.kube.kubeconfig)


@pytest.fixture
def waiting(machine: JoinedNode) -> Iterator[str]:
    """A pod that runs until SIGTERM."""
    yield from _made(machine, "trap 'echo terminating; exit 0' TERM; echo here; while :; do sleep 0.05; done")


def _made(machine: JoinedNode, script: str, name: str = "waiting", **more: object) -> Iterator[str]:
    machine.create(pod(name, "sh", "-c", script, **more))
    machine.running(name)
    yield name
    machine.api.delete("pods", "default", name, grace=0)
    machine.gone(name)


def test_logs_of_a_container_and_of_the_one_before_it(machine: JoinedNode, kubectl: Kubectl) -> None:
    script = "if [ -e /e/f ]; then echo two; echo lines; sleep 60; fi; touch /e/f; echo before; exit 1"
    more = {"volumes": [{"name": "e", "emptyDir": {}}], "volumeMounts": [{"name": "e", "mountPath": "/e"}]}
    machine.create(pod("again", "sh", "-c", script, restartPolicy="Always", **more))
    eventually(lambda: kubectl("logs", "again") == "two\nlines\n")
    assert kubectl("logs", "again", "--previous") == "before\n"
    assert kubectl("logs", "again", "--tail=1") == "lines\n"
    assert kubectl("logs", "again", "--limit-bytes=3") == "two"
    stamped = kubectl("logs", "again", "--timestamps", "--since=1h").splitlines()
    assert [re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z (\w+)", line)[1] for line in stamped] == ["two", "lines"]  # type: ignore[index]
    machine.api.delete("pods", "default", "again", grace=0)
    machine.gone("again")


def test_between_two_runs_the_last_log_is_the_previous_one_too(machine: JoinedNode, kubectl: Kubectl) -> None:
    machine.create(pod("looping", "sh", "-c", "echo once; exit 1", restartPolicy="Always"))
    eventually(lambda: "CrashLoopBackOff" in kubectl("get", "pod", "looping"))
    assert kubectl("logs", "looping") == kubectl("logs", "looping", "--previous") == "once\n"
    machine.api.delete("pods", "default", "looping", grace=0)
    machine.gone("looping")


def test_a_log_is_followed_to_the_end_of_a_pod_that_is_deleted(machine: JoinedNode, kubectl: Kubectl, waiting: str) -> None:
    uid = machine.pod(waiting)["metadata"]["uid"]
    with kubectl.begun("logs", "-f", waiting) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"here\n"
        kubectl("delete", "pod", waiting)
        assert following.stdout.read() == b"terminating\n"
        assert following.wait(60) == 0
    assert "NotFound" in kubectl("logs", waiting, code=1)
    (kept,) = machine.data.glob(f"logs/default_{waiting}_{uid}/main/0.log")
    assert [line.split(" ", 3)[3] for line in kept.read_text().splitlines()] == ["here", "terminating"]


def test_a_missing_log_is_explained(machine: JoinedNode, kubectl: Kubectl) -> None:
    machine.create(pod("unmade", "true", envFrom=[{"configMapRef": {"name": "is-not-there"}}]))
    eventually(lambda: "CreateContainerConfigError" in str(machine.pod("unmade")["status"]))
    said = kubectl("logs", "unmade", code=1)
    assert 'container "main" in pod "unmade" is waiting to start: CreateContainerConfigError' in said
    machine.api.delete("pods", "default", "unmade", grace=0)
    machine.gone("unmade")


def test_exec_passes_input_output_and_exit_code(kubectl: Kubectl, waiting: str) -> None:
    assert kubectl("exec", "-i", waiting, "--", "sh", "-c", "hostname; cat", input=b"typed\n") == f"{waiting}\ntyped\n"
    said = kubectl("exec", waiting, "--", "sh", "-c", "echo out; echo err >&2; exit 3", code=3)
    assert said == "out\nerr\ncommand terminated with exit code 3\n"
    large = bytes(range(256)) * 8192
    assert kubectl("exec", "-i", waiting, "--", "sha256sum", input=large).split()[0] == _digest(large)
    assert "executable file not found" in kubectl("exec", waiting, "--", "no-such-program", code=1)


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def test_exec_gives_a_terminal(kubectl: Kubectl, waiting: str) -> None:
    with kubectl.in_terminal("exec", "-it", waiting, "--", "sh") as terminal:
        terminal.type("tty && echo at $(hostname)\n")
        assert "/dev/pts/" in terminal.until(f"at {waiting}\r\n")
        terminal.type("exit 7\n")
        terminal.until("exit code 7")
        assert terminal.process.wait(60) == 7


def test_files_are_copied_both_ways(kubectl: Kubectl, waiting: str, tmp_path: pathlib.Path) -> None:
    content = bytes(range(256)) * 4096
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_bytes(content)
    kubectl("cp", str(tmp_path / "there"), f"{waiting}:/brought")
    assert kubectl("exec", waiting, "--", "sha256sum", "/brought/file").split()[0] == _digest(content)
    kubectl("cp", f"{waiting}:brought/file", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == content
    assert not pathlib.Path("/brought").exists()


def test_port_forward_reaches_a_port_of_a_pod(machine: JoinedNode, kubectl: Kubectl) -> None:
    script = "mkdir /www; cd /www; hostname > index.html; exec python3 -m http.server 8080 --bind 127.0.0.1"
    knock = ["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 8080))"]
    for name in _made(machine, script, "serving", readinessProbe={"exec": {"command": knock}, "periodSeconds": 1}):
        with kubectl.forwarding(f"pod/{name}", 8080) as port:
            for _ in range(3):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                connection.request("GET", "/")
                assert connection.getresponse().read().decode().strip() == name
                connection.close()


def test_attach_connects_to_the_first_process(machine: JoinedNode, kubectl: Kubectl) -> None:
    script = "while read line; do echo heard $line; done; echo over; exit 4"
    machine.create(pod("listening", "sh", "-c", script, stdin=True, stdinOnce=True))
    machine.running("listening")
    assert "heard hello\n" in kubectl("attach", "-i", "listening", input=b"hello\n")
    ended = machine.ended("listening")
    assert ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 4
    assert kubectl("logs", "listening") == "heard hello\nover\n"
    machine.api.delete("pods", "default", "listening", grace=0)
    machine.gone("listening")


def test_an_ephemeral_container_is_added_to_a_running_pod(machine: JoinedNode, kubectl: Kubectl, waiting: str) -> None:
    kubectl("debug", waiting, "--image=x", "--container=look", "--profile=general", "--", "sh", "-c", "hostname; sleep 60")
    eventually(lambda: kubectl("logs", waiting, "-c", "look") == f"{waiting}\n")
    assert kubectl("exec", waiting, "-c", "look", "--", "echo", "inside") == "inside\n"


def test_pods_and_nodes_are_described(machine: JoinedNode, kubectl: Kubectl, waiting: str) -> None:
    eventually(lambda: "Started container main" in kubectl("describe", "pod", waiting))
    message = kubectl("describe", "pod", waiting)
    status = machine.pod(waiting)["status"]
    for pattern in (
        rf"Node: +{machine.name}/127\.0\.0\.1",
        r"Status: +Running",
        rf"IP: +{status['podIP']}\n",
        r"Container ID: +\w+://\w+",
        r"State: +Running",
        r"Ready +True",
        r"QoS Class: +BestEffort",
        rf"Successfully assigned default/{waiting} to {machine.name}",
    ):
        assert re.search(pattern, message), (pattern, message)
    message = kubectl("describe", "node", machine.name)
    for pattern in (r"Ready +True .*KubeletReady", r"kubernetes\.io/os=linux", rf"default +{waiting} ", r"HolderIdentity: +\S+"):
        assert re.search(pattern, message), (pattern, message)
    row = kubectl("get", "nodes", machine.name, "--no-headers").split()
    assert row[:2] == [machine.name, "Ready"]


def test_kubectl_wait_works_for_pods(machine: JoinedNode, kubectl: Kubectl, waiting: str) -> None:
    kubectl("wait", "--for=condition=Ready", f"pod/{waiting}", "--timeout=30s")
    assert kubectl("get", "pod", waiting, "--no-headers").split()[:3] == [waiting, "1/1", "Running"]
    kubectl("run", "brief", "--image=x", "--restart=Never", "--command", "--", "sh", "-c", "exit 0")
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/brief", "--timeout=30s")
    assert kubectl("get", "pod", "brief", "--no-headers").split()[2] == "Completed"
    kubectl("delete", "pod", "brief")
