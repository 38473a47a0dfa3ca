"""Resource usage of pods and of the node, for `kubectl top` and autoscalers."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from tests.cluster.api import Object, eventually
from tests.node.local_cluster import LocalCluster, pod
from tools.kube import build

GROUP = "/apis/metrics.k8s.io/v1beta1"
BUSY = ("sh", "-c", "while :; do :; done")
A_THIRD = {"limits": {"cpu": "300m"}, "requests": {"cpu": "100m"}}


def cores(usage: Object) -> float:
    assert usage["cpu"].endswith("n")
    return int(usage["cpu"][:-1]) / 1e9


def used(cluster: LocalCluster, name: str) -> Any:
    """The usage by container, once the pod was sampled."""

    def look() -> Any:
        items = cluster.api.call("GET", f"{GROUP}/namespaces/default/pods")["items"]
        found = [each for each in items if each["metadata"]["name"] == name]
        return found and {each["name"]: each["usage"] for each in found[0]["containers"]}

    return eventually(look, 60)


def test_cpu_and_memory_usage_is_reported_for_each_container(any_cluster: LocalCluster) -> None:
    idle = {"name": "idle", "image": "example", "command": ["sleep", "600"]}
    any_cluster.create(pod("measured", *BUSY, resources=A_THIRD, containers=[idle]))
    any_cluster.running("measured")
    usage = used(any_cluster, "measured")
    assert set(usage) == {"main", "idle"}
    assert cores(usage["main"]) > 0.05 > cores(usage["idle"])
    assert all(int(each["memory"].removesuffix("Ki")) > 0 for each in usage.values())
    node = any_cluster.api.call("GET", f"{GROUP}/nodes")["items"][0]
    assert node["metadata"]["name"] == "traincrew"
    assert cores(node["usage"]) > 0.05
    any_cluster.api.delete("pods", "default", "measured")
    any_cluster.gone("measured")
    assert not [each for each in any_cluster.api.call("GET", f"{GROUP}/pods")["items"] if each["metadata"]["name"] == "measured"]


def top(cluster: LocalCluster, *arguments: str) -> list[list[str]]:
    if not build.is_there("kubectl"):
        pytest.skip("kubectl is not built yet: `make kube` does it")
    kubeconfig = cluster.data / "kubeconfig"
    command = [str(build.program("kubectl")), f"--kubeconfig={kubeconfig}", "top", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_kubectl_top_shows_nodes_pods_and_containers(cluster: LocalCluster) -> None:
    cluster.create(pod("topped", *BUSY, resources=A_THIRD))
    cluster.running("topped")
    used(cluster, "topped")
    title, node = top(cluster, "nodes")
    assert (title[0], node[0]) == ("NAME", "traincrew")
    assert node[2].endswith("%")
    rows = top(cluster, "pods")
    assert next(row for row in rows if row[0] == "topped")[1].endswith("m")
    rows = top(cluster, "pods", "topped", "--containers")
    assert rows[1][:2] == ["topped", "main"]
    cluster.api.delete("pods", "default", "topped")
    cluster.gone("topped")


def elastic(name: str) -> Object:
    """A job with busy workers, and an autoscaler with a target of half of their requests."""
    container = {"name": "pytorch", "image": "example", "command": list(BUSY), "resources": A_THIRD}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    policy = {"minReplicas": 1, "maxReplicas": 3, "rdzvBackend": "c10d", "metrics": [metric]}
    spec = {"elasticPolicy": policy, "pytorchReplicaSpecs": {"Worker": worker}, "runPolicy": {"cleanPodPolicy": "All"}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}


def test_an_elastic_job_whose_workers_are_busy_is_scaled_up(cluster: LocalCluster) -> None:
    cluster.create(elastic("grows"))
    eventually(lambda: cluster.api.find("pods", "default", "grows-worker-2"), 120)
    job = cluster.api.get("pytorchjobs", "default", "grows")
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3
    scaler = cluster.api.get("horizontalpodautoscalers", "default", "grows")
    assert scaler["status"]["desiredReplicas"] == 3
    cluster.running("grows-worker-2")
    cluster.api.delete("pytorchjobs", "default", "grows")
    cluster.gone("grows-worker-0")
