"""PyTorchJob: the init container in which workers wait for the master, and the operator's flags for it."""

from __future__ import annotations

import pathlib
import subprocess

import pytest
from tests.cluster import manifests
from tests.cluster.api import Api, Object
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.operators import INIT_IMAGE, OperatorProcess
from tests.cluster.submitted_job import SubmittedJob

TEMPLATE = """
- name: look-up
  image: {{.InitContainerImage}}
  command: [sh, -c, "for i in $(seq {{ .MaxTries }}); do nslookup {{.MasterAddr}}; done"]
- name: greet
  image: greeter:2
"""


@pytest.mark.checklist(87)
def test_workers_wait_for_a_master_that_is_in_the_spec(
    operator: OperatorProcess, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    for name in ("j-worker-0", "j-worker-1"):
        (waiting,) = kubelet.pod(name)["spec"]["initContainers"]
        assert (waiting["name"], waiting["image"], waiting["imagePullPolicy"]) == ("init-pytorch", INIT_IMAGE, "IfNotPresent")
        limits, requests = {"cpu": "100m", "memory": "20Mi"}, {"cpu": "50m", "memory": "10Mi"}
        assert waiting["resources"] == {"limits": limits, "requests": requests}
    assert "initContainers" not in kubelet.pod("j-master-0")["spec"]


@pytest.mark.checklist(87)
def test_workers_of_a_job_without_a_master_wait_for_nobody(
    operator: OperatorProcess, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Worker=2))
    assert "initContainers" not in kubelet.pod("j-worker-0")["spec"]
    assert "initContainers" not in kubelet.pod("j-worker-1")["spec"]


@pytest.mark.checklist(90)
def test_the_users_init_containers_come_first(operator: OperatorProcess, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    worker = manifests.replicas("PyTorchJob", 1)
    worker["template"]["spec"]["initContainers"] = [{"name": "fetch", "image": "a:1"}, {"name": "unpack", "image": "b:1"}]
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=worker))
    names = [container["name"] for container in kubelet.pod("j-worker-0")["spec"]["initContainers"]]
    assert names == ["fetch", "unpack", "init-pytorch"]


@pytest.mark.checklist(88)
def test_the_wait_looks_for_the_masters_name_a_hundred_times(
    operator: OperatorProcess, api: Api, kubelet: FakeKubelet, namespace: str, tmp_path: pathlib.Path
) -> None:
    SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=1))
    (waiting,) = kubelet.pod("j-worker-0")["spec"]["initContainers"]
    assert waiting["command"][:2] == ["sh", "-c"]
    assert "nslookup j-master-0" in waiting["command"][2]
    assert _run(waiting, tmp_path, found_at=None) == (1, 100)


@pytest.mark.checklist(88, 89)
def test_flags_set_the_image_and_the_tries(isolated: IsolatedNamespace, tmp_path: pathlib.Path) -> None:
    flags = ("--pytorch-init-container-image", "mirror.example/alpine:3.20", "--pytorch-init-container-max-tries", "3")
    with isolated.operator(*flags):
        isolated.submit(manifests.job("PyTorchJob", Master=1, Worker=1))
        (waiting,) = isolated.kubelet.pod("j-worker-0")["spec"]["initContainers"]
    assert (waiting["name"], waiting["image"]) == ("init-pytorch", "mirror.example/alpine:3.20")
    assert _run(waiting, tmp_path, found_at=None) == (1, 3)
    assert _run(waiting, tmp_path, found_at=2) == (0, 2)


@pytest.mark.checklist(89)
def test_a_template_file_replaces_the_containers(isolated: IsolatedNamespace, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "initContainer.yaml"
    file.write_text(TEMPLATE)
    with isolated.operator(
        "--pytorch-init-container-template-file", str(file), "--pytorch-init-container-image", "own:1",
        "--pytorch-init-container-max-tries", "7",
    ):  # fmt: skip
        isolated.submit(manifests.job("PyTorchJob", Master=1, Worker=1))
        waiting = isolated.kubelet.pod("j-worker-0")["spec"]["initContainers"]
    assert [(each["name"], each["image"]) for each in waiting] == [("look-up", "own:1"), ("greet", "greeter:2")]
    assert waiting[0]["command"] == ["sh", "-c", "for i in $(seq 7); do nslookup j-master-0; done"]


@pytest.mark.checklist(89)
def test_a_template_file_that_cannot_be_read_replaces_nothing(isolated: IsolatedNamespace, tmp_path: pathlib.Path) -> None:
    with isolated.operator("--pytorch-init-container-template-file", str(tmp_path / "absent.yaml")):
        isolated.submit(manifests.job("PyTorchJob", Master=1, Worker=1))
        (waiting,) = isolated.kubelet.pod("j-worker-0")["spec"]["initContainers"]
    assert (waiting["name"], waiting["image"]) == ("init-pytorch", INIT_IMAGE)


@pytest.mark.checklist(87)
def test_the_default_image_is_that_of_the_operators_own_pod(isolated: IsolatedNamespace) -> None:
    containers = [{"name": "sidecar", "image": "proxy:1"}, {"name": "traincrew", "image": "mirror.example/traincrew:1"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "operator"}, "spec": {"containers": containers}}
    isolated.api.create(isolated.namespace, pod)
    own = {"POD_NAME": "operator", "POD_NAMESPACE": isolated.namespace}
    with isolated.operator("--init-image", "", env=own):
        isolated.submit(manifests.job("PyTorchJob", Master=1, Worker=1))
        (waiting,) = isolated.kubelet.pod("j-worker-0")["spec"]["initContainers"]
    assert (waiting["name"], waiting["image"]) == ("init-pytorch", "mirror.example/traincrew:1")


@pytest.mark.parametrize("env", [{}, {"POD_NAME": "absent"}], ids=["not in a pod", "a pod that cannot be read"])
def test_an_operator_that_does_not_know_its_image_uses_a_public_one(isolated: IsolatedNamespace, env: dict[str, str]) -> None:
    with isolated.operator("--init-image", "", env=env) as operator:
        isolated.submit(manifests.job("PyTorchJob", Master=1, Worker=1))
        (waiting,) = isolated.kubelet.pod("j-worker-0")["spec"]["initContainers"]
        assert (waiting["name"], waiting["image"]) == ("init-pytorch", "alpine:3.10")
        assert "init containers use public images. Set --init-image" in operator.log


def test_an_image_without_nslookup_is_named_at_once(isolated: IsolatedNamespace, tmp_path: pathlib.Path) -> None:
    with isolated.operator():
        isolated.submit(manifests.job("PyTorchJob", Master=1, Worker=1))
        (waiting,) = isolated.kubelet.pod("j-worker-0")["spec"]["initContainers"]
    (tmp_path / "sh").symlink_to("/bin/sh")
    result = subprocess.run(waiting["command"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert result.returncode == 127
    assert result.stdout.startswith("nslookup: not found")
    assert "--pytorch-init-container-image" in result.stdout


def _run(container: Object, directory: pathlib.Path, found_at: int | None) -> tuple[int, int]:
    """The command's exit code and its look-ups, run with an nslookup that answers at the n-th call, and a sleep that does not."""
    calls, programs = directory / "calls", directory / "bin"
    calls.write_text("")
    programs.mkdir(exist_ok=True)
    scripts = {
        "nslookup": f'echo "$1" >> {calls}\n[ $(wc -l < {calls}) -eq {found_at or -1} ]',
        "sleep": "exit 0",
    }
    for name, body in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:/usr/bin:/bin"
    result = subprocess.run(container["command"], env={"PATH": path}, capture_output=True, check=False)
    looked_up = calls.read_text().split()
    assert set(looked_up) == {"j-master-0"}
    return result.returncode, len(looked_up)
