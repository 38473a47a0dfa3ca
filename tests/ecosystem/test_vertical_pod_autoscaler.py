"""A VerticalPodAutoscaler on the workers of a job: its updater evicts them, which is a disruption and not a failure."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import manifests, operators
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.ecosystem import programs_of_others
from tests.ecosystem.programs_of_others import RunningProgram
from tools.ecosystem import programs
from tools.kube import cluster

AUTOSCALERS = "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers"
WORKERS = ("j-worker-0", "j-worker-1")
FLAGS = ("--updater-interval=2s", "--use-admission-controller-status=false", "--v=4")


@pytest.fixture
def updater(kube: cluster.Cluster) -> Iterator[RunningProgram]:
    crds = programs.module_directory(programs.VERTICAL_POD_AUTOSCALER) / "deploy" / "vpa-v1-crd-gen.yaml"
    programs_of_others.apply_crds(kube, crds)
    flags = (f"--kubeconfig={kube.kubeconfig}", f"--address=127.0.0.1:{operators.free_port()}", *FLAGS)
    with programs_of_others.running("vertical-pod-autoscaler/updater", flags, kube.kubeconfig) as program:
        program.wait_for("no VPA objects to process")
        yield program


def autoscaler(mode: str) -> Object:
    target = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j"}
    spec = {"targetRef": target, "updatePolicy": {"updateMode": mode}}
    return {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "j"}, "spec": spec}


def recommend(api: Api, cpu: str) -> None:
    """In place of the recommender, which would need hours of metrics."""
    amounts = {name: {"cpu": cpu} for name in ("lowerBound", "target", "upperBound", "uncappedTarget")}
    container = {"containerName": "pytorch", **amounts}
    condition = {"type": "RecommendationProvided", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"recommendation": {"containerRecommendations": [container]}, "conditions": [condition]}
    api.call("PATCH", f"{AUTOSCALERS}/j/status", {"status": status}, "application/merge-patch+json")


def job() -> Object:
    requests = {"resources": {"requests": {"cpu": "100m"}}}
    roles: Object = {
        name: manifests.replicas("PyTorchJob", count, "Never", **requests) for name, count in (("Master", 1), ("Worker", 2))
    }
    return manifests.job("PyTorchJob", **roles)


def uids(api: Api) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in api.all("pods", "default")}


def test_an_eviction_by_the_updater_is_a_disruption_and_only_workers_are_evicted(
    api: Api, account: pathlib.Path, updater: RunningProgram
) -> None:
    kubelet = FakeKubelet(api, "default")
    with operators.running(account) as process:
        api.create("default", job())
        kubelet.run("j-master-0", *WORKERS)
        eventually(lambda: "Running" in str(api.get("pytorchjobs", "default", "j")["status"]["conditions"]))
        before = uids(api)
        api.call("POST", AUTOSCALERS, autoscaler("Recreate"))
        recommend(api, "1")

        def evicted() -> list[str]:
            return [pod["metadata"]["name"] for pod in api.all("pods", "default") if "deletionTimestamp" in pod["metadata"]]

        eventually(evicted, 60)
        (name, *_) = evicted()
        assert name in WORKERS
        reasons = [each.get("reason") for each in api.get("pods", "default", name)["status"]["conditions"]]
        assert "EvictionByEvictionAPI" in reasons
        api.call("DELETE", f"{AUTOSCALERS}/j")
        kubelet.gone(name)
        eventually(lambda: uids(api).get(name) not in (None, before[name]), 60)
        status = api.get("pytorchjobs", "default", "j")["status"]
        assert status["restarts"]["disruptions"] == 1
        assert not status["restarts"].get("charged")
        assert "failure" not in status
        assert not any(each["type"] == "Failed" for each in status["conditions"])
        assert "Traceback" not in process.log


@pytest.mark.parametrize("mode", ["Off", "Initial"])
def test_recommendations_work_beside_the_operator(api: Api, account: pathlib.Path, updater: RunningProgram, mode: str) -> None:
    """The admission controller of Initial changes the requests of new pods. The operator does not undo that."""
    kubelet = FakeKubelet(api, "default")
    with operators.running(account):
        api.call("POST", AUTOSCALERS, autoscaler(mode))
        recommend(api, "1")
        api.create("default", job())
        kubelet.run("j-master-0", *WORKERS)
        before = uids(api)
        updater.wait_for("skipping VPA object", "j")
        consistently(lambda: uids(api) == before, 5)
        assert api.call("GET", f"{AUTOSCALERS}/j")["status"]["recommendation"]
        assert api.call("GET", "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/j/scale")["status"]["selector"]
