"""`traincrew up` from the command line: start, a job, clean-up and `down`."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.cluster import manifests
from tests.cluster.api import Api, eventually
from tests.cluster.fake_kubelet import FakeKubelet


class Cluster:
    def __init__(self, data: pathlib.Path) -> None:
        self.data = data

    def traincrew(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "traincrew.cli.main", *arguments, "--data", os.fspath(self.data)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    @property
    def api(self) -> Api:
        return Api(self.data / "kubeconfig")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(tmp_path_factory.mktemp("up") / "data")
    started = running.traincrew("up", "--detach", "--no-node")
    assert started.returncode == 0, started.stderr
    yield running
    running.traincrew("down")


def test_a_second_up_reports_the_running_cluster_and_changes_nothing(cluster: Cluster) -> None:
    before = json.loads(cluster.traincrew("status", "-o", "json").stdout)
    again = cluster.traincrew("up")
    assert again.returncode == 0
    assert f"The cluster in {cluster.data} is already running" in again.stdout
    assert json.loads(cluster.traincrew("status", "-o", "json").stdout)["pid"] == before["pid"]


def test_a_second_up_names_the_options_that_it_did_not_apply(cluster: Cluster) -> None:
    assert "not applied" not in cluster.traincrew("up", "--detach").stdout
    message = cluster.traincrew("up", "--detach", "--strict-images", "--device", "nvidia.com/gpu=1").stdout
    assert "Options not applied: --device, --strict-images. Run `traincrew down` first" in message


def test_only_cpu_and_memory_can_be_overcommitted(cluster: Cluster) -> None:
    rejected = cluster.traincrew("up", "--overcommit", "mem")
    assert rejected.returncode == 2
    assert "'mem' is not one of 'cpu', 'memory', 'none'" in rejected.stderr


def test_kubeconfig_and_env_print_the_path(cluster: Cluster) -> None:
    path = cluster.data / "kubeconfig"
    assert cluster.traincrew("kubeconfig").stdout.strip() == str(path)
    assert cluster.traincrew("env").stdout.strip() == f"export KUBECONFIG={path}"
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_default_namespaces_exist(cluster: Cluster) -> None:
    assert {"default", "kubeflow", "mpi-operator"} <= cluster.api.names("namespaces", "")


def test_the_operator_has_a_mirror_pod_with_its_log(cluster: Cluster) -> None:
    (pod,) = cluster.api.all("pods", "kubeflow", "name=tf-job-operator")
    assert pod["status"]["phase"] == "Running"
    path = cluster.api.path("pods", "kubeflow", pod["metadata"]["name"], "log")
    response = cluster.api.session.get(cluster.api.server + path, timeout=30)
    assert response.status_code == 200
    assert "starting workers" in response.text


def test_a_job_succeeds_and_its_objects_are_deleted_with_it(cluster: Cluster) -> None:
    api, namespace = cluster.api, "first"
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    assert api.names("serviceaccounts", namespace) == {"default"}
    kubelet = FakeKubelet(api, namespace)
    api.create(namespace, manifests.job("PyTorchJob", Master=1, Worker=1))

    kubelet.run("j-master-0", "j-worker-0")
    kubelet.succeed("j-worker-0", "j-master-0")

    eventually(lambda: _is(api, namespace, "Succeeded"))
    api.delete("pytorchjobs", namespace, "j")
    eventually(lambda: not api.names("pods", namespace) and not api.names("services", namespace))
    api.call("DELETE", f"/api/v1/namespaces/{namespace}")
    eventually(lambda: namespace not in api.names("namespaces", ""))


def _is(api: Api, namespace: str, type: str) -> bool:
    conditions = api.get("pytorchjobs", namespace, "j").get("status", {}).get("conditions", [])
    return any(each["type"] == type and each["status"] == "True" for each in conditions)


def test_objects_are_kept_after_down_and_up(cluster: Cluster) -> None:
    cluster.api.create("default", manifests.job("TFJob", name="kept", Worker=1))
    eventually(lambda: cluster.api.find("pods", "default", "kept-worker-0"))
    server = cluster.api.server

    assert cluster.traincrew("down").returncode == 0
    stopped = cluster.traincrew("status")
    assert (stopped.returncode, stopped.stdout) == (
        1,
        f"No cluster is running in {cluster.data}. Run `traincrew up --detach` to start one.\n",
    )
    assert cluster.traincrew("up", "--detach", "--no-node").returncode == 0

    assert cluster.api.server == server
    assert cluster.api.find("tfjobs", "default", "kept")
    status = json.loads(cluster.traincrew("status", "-o", "json").stdout)
    assert status["running"] is True
    assert status["jobs"]["TFJob"] == {"Created": 1}
