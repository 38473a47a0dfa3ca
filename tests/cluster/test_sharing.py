"""Elastic jobs on idle devices, on a real API server with a real scheduler and the rights that are shipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster import audit, installation, manifests, operators, simulated_node
from tests.cluster.api import Api, Object, eventually
from tools.kube import cluster, prepared_data

GPU = "nvidia.com/gpu"
NAMESPACE = "default"
PATIENCE = 120.0
USER = "kubeflow:traincrew"
WAITING = {"metadata": {"name": "waiting"}, "value": 0, "preemptionPolicy": "Never"}
"""For pods that wait until the operator gives devices back: the scheduler, which may be quicker, does not preempt for them."""


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.Cluster]:
    with cluster.start_any() as started:
        yield started


@pytest.fixture(scope="module")
def api(kube: cluster.Cluster) -> Iterator[Api]:
    """With one node of four devices."""
    client = installation.crds(kube)
    kube.start_scheduler()
    client.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", WAITING)
    with simulated_node.running(client, "machine", NAMESPACE, {GPU: "4"}):
        yield client


def elastic_job() -> Object:
    job: Object = manifests.job("PyTorchJob", Worker=2, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}})
    container = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {GPU: "1"}}
    return job


def claim(name: str, gpus: int) -> Object:
    container = {"name": "main", "image": "x", "resources": {"limits": {GPU: str(gpus)}}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "spec": {"containers": [container], "priorityClassName": "waiting"},
    }


def elastic(api: Api) -> Object:
    found: Object = api.find("pytorchjobs", NAMESPACE, "j") or {}
    state: Object = found.get("status", {}).get("elastic", {})
    return state


def phase(api: Api, pod: str) -> str:
    found = api.find("pods", NAMESPACE, pod)
    return str(found["status"]["phase"]) if found is not None else ""


def annotate(api: Api, **annotations: str) -> None:
    names = {f"traincrew.kubeflow.org/{name.replace('_', '-')}": text for name, text in annotations.items()}
    api.patch("pytorchjobs", NAMESPACE, "j", {"metadata": {"annotations": names}})


def requests(kube: cluster.Cluster, since: int) -> list[dict[str, Any]]:
    return audit.requests(kube, USER, since)


def reads(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["objectRef"]["resource"] for entry in entries if entry["verb"] in ("list", "watch") and "objectRef" in entry}


def test_a_job_says_what_is_lacking_grows_with_the_shipped_rights_and_gives_back(kube: cluster.Cluster, api: Api) -> None:
    start = kube.audit_size()
    with operators.running(installation.rights(kube)):
        api.call("POST", api.path("pytorchjobs", NAMESPACE), elastic_job())
        eventually(lambda: phase(api, "j-worker-1") == "Running", PATIENCE)
        assert not reads(requests(kube, start)) & {"nodes", "resourcequotas"}, "nothing is read before a job asks for it"
        annotate(api, scaling="idle", checkpoint_seconds="10")
        eventually(lambda: "may not read nodes" in elastic(api)["why"]["message"], PATIENCE)
        assert elastic(api)["scaling"] == "manual"
        applied = kube.kubectl("apply", "-k", str(prepared_data.MANIFESTS / "sharing"))
        assert applied.returncode == 0, applied.stderr
        eventually(lambda: elastic(api)["members"] == "0-3", PATIENCE)
        eventually(lambda: phase(api, "j-worker-3") == "Running", PATIENCE)
        surplus = api.call("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/j-worker-3")
        assert surplus["spec"]["priority"] == -1000
        api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", claim("other", 2))
        eventually(lambda: phase(api, "other") == "Running", PATIENCE)
        eventually(lambda: elastic(api)["members"] == "0-1", PATIENCE)
        said = eventually(lambda: [e["message"] for e in events(api) if e["reason"] == "GaveBack"], PATIENCE)
        assert any("Pod default/other waits for 2" in text for text in said), said
        job = api.call("GET", api.path("pytorchjobs", NAMESPACE, "j"))
        assert not job["status"].get("restarts", {}).get("disruptions")
        writes = [entry for entry in requests(kube, start) if entry["verb"] in ("patch", "update", "create", "delete")]
        specs = [
            e for e in writes if e["objectRef"]["resource"] == "pytorchjobs" and e["objectRef"].get("subresource") != "status"
        ]
        assert not specs, "the operator writes the status of a job and nothing else of it"
    api.call("DELETE", api.path("pytorchjobs", NAMESPACE, "j"))


def events(api: Api) -> list[Object]:
    found: list[Object] = api.call("GET", f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
    return found


def test_no_request_of_an_operator_with_the_shipped_rights_is_forbidden(kube: cluster.Cluster, api: Api) -> None:
    kube.kubectl("apply", "-k", str(prepared_data.MANIFESTS / "sharing"))
    start = kube.audit_size()
    with operators.running(installation.rights(kube)):
        job = elastic_job()
        job["metadata"] |= {"name": "k", "annotations": {"traincrew.kubeflow.org/scaling": "idle"}}
        api.call("POST", api.path("pytorchjobs", NAMESPACE), job)
        eventually(lambda: (api.find("pytorchjobs", NAMESPACE, "k") or {})["status"]["elastic"]["why"]["reason"], PATIENCE)
    assert not audit.forbidden(requests(kube, start))
    api.call("DELETE", api.path("pytorchjobs", NAMESPACE, "k"))
