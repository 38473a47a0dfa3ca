"""Every command of docs/operating.md and docs/migrating.md works on a cluster with the operators installed."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.cluster import controller_manager, installed_operators, jobs_with_leader
from tests.cluster.api import Api, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.installed_operators import GO_LABELS, NAMESPACE, OWN_LABELS, deployment
from tools.kube import build, cluster

ROOT = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
"""Language and lines. Blocks with a language are not commands."""
GO_SELECTOR = ",".join(f"{key}={value}" for key, value in GO_LABELS.items())
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
NEED_A_KUBELET = {
    """kubectl -n kubeflow logs -l app.kubernetes.io/name=traincrew --tail=-1 | grep '"job": "default/mnist"'""",
    "kubectl -n kubeflow port-forward deployment/traincrew 8081",
    "curl http://localhost:8081/readyz",
    "curl --request PUT --data debug http://localhost:8081/loglevel",
}
"""`tests/install/test_installed_operator.py` runs them."""


def commands(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text()
    blocks = [block for language, block in BLOCK.findall(text) if not language]
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture
def kube() -> Iterator[cluster.Cluster]:
    controllers = ("deployment", "replicaset", "serviceaccount")
    with cluster.start_bootstrapped() as started, controller_manager.running(started, *controllers):
        installed_operators.install(started)
        installed_operators.apply(started, deployment("traincrew", OWN_LABELS, "operator", "--leader-elect"))
        api = Api(started.kubeconfig)
        api.create("default", jobs_with_leader.job("PyTorchJob", 1, name="mnist"))
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "traincrew-1"}}
        installed_operators.apply(
            started, {**lease, "metadata": {"name": "1ca428e5.training-operator.kubeflow.org", "namespace": NAMESPACE}}
        )
        selector = ",".join(f"{key}={value}" for key, value in OWN_LABELS.items())
        pod = eventually(lambda: api.all("pods", NAMESPACE, selector))[0]["metadata"]["name"]
        FakeKubelet(api, NAMESPACE).run(pod, bind=False)
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/traincrew"
        eventually(lambda: api.call("GET", path)["status"].get("readyReplicas") == 1)
        yield started


@pytest.fixture
def shell(kube: cluster.Cluster, tmp_path: pathlib.Path) -> dict[str, str]:
    """The environment of a user: kubectl and traincrew are on PATH, KUBECONFIG names the cluster."""
    (tmp_path / "kubectl").symlink_to(build.program("kubectl"))
    (tmp_path / "traincrew").symlink_to(pathlib.Path(sys.executable).parent / "traincrew")
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "KUBECONFIG": str(kube.kubeconfig)}


def run_all(lines: list[str], environment: dict[str, str]) -> None:
    assert lines, "the page has commands"
    for line in lines:
        result = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert result.returncode == 0, f"{line}\n{result.stdout}{result.stderr}"


def test_the_commands_of_the_page_on_operating(shell: dict[str, str]) -> None:
    lines = commands("operating.md")

    assert set(lines) >= NEED_A_KUBELET
    run_all([line for line in lines if line not in NEED_A_KUBELET], shell)


def test_the_commands_of_the_page_on_migrating(kube: cluster.Cluster, shell: dict[str, str]) -> None:
    api = Api(kube.kubeconfig)
    installed_operators.apply(kube, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mpi-operator"}})
    installed_operators.apply(kube, deployment("training-operator", GO_LABELS))
    eventually(lambda: api.all("pods", NAMESPACE, GO_SELECTOR))

    lines = commands("migrating.md")
    removal = next(number for number, line in enumerate(lines) if line.startswith("kubectl delete"))
    back = lines.index("traincrew migrate --back --apply")
    run_all(lines[:back], shell)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        done = pool.submit(run_all, lines[back:removal], shell)
        eventually(lambda: replicas(api, "training-operator") == 1 or done.done())
        FakeKubelet(api, NAMESPACE).run(eventually(lambda: api.all("pods", NAMESPACE, GO_SELECTOR))[0]["metadata"]["name"])
        done.result()
    assert replicas(api, "training-operator") == 1
    assert replicas(api, "traincrew") == 0

    before = kube.kubectl("get", "crd,ns,pytorchjobs", "-A", "-o", "name").stdout
    run_all(lines[removal:], shell)
    assert [each["metadata"]["name"] for each in api.call("GET", DEPLOYMENTS)["items"]] == ["traincrew"]
    assert kube.kubectl("get", "crd,ns,pytorchjobs", "-A", "-o", "name").stdout == before
    assert "pytorchjob.kubeflow.org/mnist" in before


def replicas(api: Api, name: str) -> int:
    return int(api.call("GET", f"{DEPLOYMENTS}/{name}")["spec"]["replicas"])
