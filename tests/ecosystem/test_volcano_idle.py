"""Elastic jobs beside gangs of the real Volcano: workers on idle capacity leave for a whole gang that waits, or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from tests.cluster import manifests, operators, simulated_node
from tests.cluster.api import Api, Object, consistently, eventually
from tests.ecosystem import cluster_with_controllers, volcano
from tools.kube import cluster, prepared_data

NAMESPACE, CPUS = "team", "4"
PATIENCE = 120.0


@pytest.fixture(scope="module")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    with cluster_with_controllers.started() as started, contextlib.ExitStack() as stack:
        stack.enter_context(volcano.running(started, tmp_path_factory.mktemp("volcano")))
        assert started.kubectl("create", "namespace", NAMESPACE).returncode == 0
        assert started.kubectl("apply", "-k", str(prepared_data.MANIFESTS / "sharing")).returncode == 0
        stack.enter_context(simulated_node.running(Api(started.kubeconfig), "machine", NAMESPACE, {"cpu": CPUS}))
        account = cluster_with_controllers.account(started)
        stack.enter_context(operators.running(account, "--gang-scheduler-name=volcano"))
        yield started


@pytest.fixture(scope="module")
def api(kube: cluster.Cluster) -> Api:
    return Api(kube.kubeconfig)


def job(name: str, workers: int, elastic: tuple[int, int] | None = None) -> Object:
    """A PyTorchJob whose workers need one CPU each. elastic: its smallest and largest number of workers."""
    spec = {"elasticPolicy": {"minReplicas": elastic[0], "maxReplicas": elastic[1]}} if elastic is not None else {}
    body: Object = manifests.job("PyTorchJob", name=name, Worker=workers, spec=spec)
    if elastic is not None:
        names = {"scaling": "idle", "checkpoint-seconds": "10"}
        body["metadata"]["annotations"] = {f"traincrew.kubeflow.org/{each}": text for each, text in names.items()}
    container = body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "1"}}
    return body


def members(api: Api) -> str:
    return str(api.get("pytorchjobs", NAMESPACE, "e")["status"].get("elastic", {}).get("members", ""))


def running_pods(api: Api, name: str) -> int:
    pods = api.all("pods", NAMESPACE, f"training.kubeflow.org/job-name={name}")
    return sum(pod["status"]["phase"] == "Running" for pod in pods)


def test_a_gang_gets_all_that_it_needs_or_nothing(api: Api) -> None:
    api.create(NAMESPACE, job("e", 2, elastic=(2, 4)))
    eventually(lambda: members(api) == "0-3" and running_pods(api, "e") == 4, PATIENCE)
    api.create(NAMESPACE, job("large", 3))
    consistently(lambda: members(api) == "0-3", 10)
    api.delete("pytorchjobs", NAMESPACE, "large")
    api.create(NAMESPACE, job("small", 2))
    eventually(lambda: running_pods(api, "small") == 2, PATIENCE)
    eventually(lambda: members(api) == "0-1", PATIENCE)
