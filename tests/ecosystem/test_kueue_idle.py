"""Elastic jobs in a queue of the real Kueue: it admits each worker on idle capacity, and takes it back for other jobs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from tests.cluster import audit, installed_operators, manifests, operators, simulated_node
from tests.cluster.api import Api, Object, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.ecosystem import cluster_with_controllers, kueue
from tools.kube import cluster, prepared_data

NAMESPACE = "team"
QUOTA, CPUS = 4, "8"
"""The queue has fewer CPUs than the node: the quota is the limit."""
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{NAMESPACE}/workloads"
PATIENCE = 120.0
USER = "kubeflow:traincrew"


@pytest.fixture(scope="module")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    with cluster_with_controllers.started() as started, contextlib.ExitStack() as stack:
        stack.enter_context(kueue.running(started, tmp_path_factory.mktemp("kueue")))
        started.start_scheduler()
        assert started.kubectl("create", "namespace", NAMESPACE).returncode == 0
        installed_operators.apply(started, *kueue.queues(QUOTA, NAMESPACE))
        assert started.kubectl("apply", "-k", str(prepared_data.MANIFESTS / "sharing")).returncode == 0
        node = simulated_node.running(Api(started.kubeconfig), "machine", NAMESPACE, {"cpu": CPUS}, {"pool": "reserved"})
        stack.enter_context(node)
        stack.enter_context(operators.running(cluster_with_controllers.account(started)))
        yield started


@pytest.fixture(scope="module")
def api(kube: cluster.Cluster) -> Api:
    return Api(kube.kubeconfig)


def job(name: str, workers: int, elastic: tuple[int, int] | None = None, labels: Object | None = None) -> Object:
    """A PyTorchJob whose workers need one CPU each. elastic: its smallest and largest number of workers."""
    spec = {"elasticPolicy": {"minReplicas": elastic[0], "maxReplicas": elastic[1]}} if elastic is not None else {}
    body: Object = manifests.job("PyTorchJob", name=name, Worker=workers, spec=spec)
    body["metadata"]["labels"] = {kueue.QUEUE_NAME: "main", **(labels or {})}
    if elastic is not None:
        body["metadata"]["annotations"] = {
            "traincrew.kubeflow.org/scaling": "idle",
            "traincrew.kubeflow.org/checkpoint-seconds": "10",
        }
    container = body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "1"}}
    return body


def elastic_status(api: Api) -> Object:
    found: Object = api.get("pytorchjobs", NAMESPACE, "e")["status"].get("elastic", {})
    return found


def surplus_workloads(api: Api) -> dict[str, Object]:
    found = api.call("GET", f"{WORKLOADS}?labelSelector=traincrew.kubeflow.org/surplus")["items"]
    return {each["metadata"]["name"]: each for each in found}


def running_pods(api: Api) -> set[str]:
    pods = api.all("pods", NAMESPACE)
    return {pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Running"}


def test_workers_on_idle_capacity_are_admitted_and_evicted_one_by_one(kube: cluster.Cluster, api: Api) -> None:
    start = kube.audit_size()
    api.create(NAMESPACE, job("e", 2, elastic=(1, 6)))
    eventually(lambda: elastic_status(api).get("members") == "0-3", PATIENCE, because="the quota allows two more workers")
    eventually(lambda: {f"e-worker-{index}" for index in range(4)} <= running_pods(api), PATIENCE)
    surplus = api.get("pods", NAMESPACE, "e-worker-3")
    assert surplus["spec"]["priority"] == -1000
    assert surplus["spec"]["nodeSelector"] == {"pool": "reserved"}, "the flavor of the job"
    assert {"e-surplus-2", "e-surplus-3"} <= surplus_workloads(api).keys()

    api.create(NAMESPACE, job("rigid", 1))
    eventually(lambda: "rigid-worker-0" in running_pods(api), PATIENCE, because="Kueue evicts one worker and admits the job")
    eventually(lambda: elastic_status(api)["workers"] == "3 (1-6)", PATIENCE)
    status = elastic_status(api)
    assert status["lastResize"]["reason"] == "GaveBack"
    assert "Kueue evicts the worker" in status["lastResize"]["message"]
    eventually(lambda: len(surplus_workloads(api)) == 1, PATIENCE, because="an evicted Workload is deleted")

    requests = audit.requests(kube, USER, start)
    of_jobs = [
        (entry["verb"], entry["objectRef"]) for entry in requests if entry.get("objectRef", {}).get("resource") == "pytorchjobs"
    ]
    writes = [verb for verb, target in of_jobs if verb in ("patch", "update") and target.get("subresource") != "status"]
    assert not writes, "the operator never writes the spec of a job, so Kueue never suspends it"
    assert not audit.forbidden(requests)
    api.delete("pytorchjobs", NAMESPACE, "e")
    eventually(lambda: not surplus_workloads(api), PATIENCE, because="they are deleted with the job")


def test_a_finished_job_gives_back_the_quota_of_its_workers_on_idle_capacity(api: Api) -> None:
    api.delete("pytorchjobs", NAMESPACE, "rigid")
    eventually(lambda: not running_pods(api), PATIENCE)
    api.create(NAMESPACE, job("e", 2, elastic=(1, 6)))
    eventually(lambda: elastic_status(api).get("members") == "0-3", PATIENCE)
    eventually(lambda: len(running_pods(api)) == 4, PATIENCE)
    FakeKubelet(api, NAMESPACE).succeed(*sorted(running_pods(api)))
    eventually(lambda: not surplus_workloads(api), PATIENCE, because="the job has finished")
    assert api.get("pytorchjobs", NAMESPACE, "e")["status"]["completionTime"]
