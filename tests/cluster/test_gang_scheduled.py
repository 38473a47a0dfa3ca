"""Gang scheduling end to end: the operator creates the PodGroup, the embedded scheduler places its pods together."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import isolated_namespace, manifests, scheduling_scenarios
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.isolated_namespace import IsolatedNamespace
from tools.kube import cluster

Spare = tuple[cluster.Cluster, Api, pathlib.Path]

CRDS = pathlib.Path(__file__).parent / "crds"
VERSIONS = {"volcano": "scheduling.volcano.sh/v1beta1", "scheduler-plugins-scheduler": "scheduling.x-k8s.io/v1alpha1"}
FILES = {"volcano": "volcano.yaml", "scheduler-plugins-scheduler": "scheduler-plugins.yaml"}


@pytest.fixture(scope="module", params=VERSIONS)
def scheduler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def there(second_kube: Spare, scheduler: str) -> Iterator[IsolatedNamespace]:
    """A namespace of an operator with gangs, and a node of four cores that our scheduler fills."""
    kube, api, operator = second_kube
    result = kube.kubectl("apply", "-f", str(CRDS / FILES[scheduler]))
    assert result.returncode == 0, result.stderr
    eventually(lambda: api.call("GET", f"/apis/{VERSIONS[scheduler]}/podgroups")["items"] is not None)
    # The embedded cluster has a node of its own; this is not about it.
    for other in api.call("GET", scheduling_scenarios.NODES)["items"]:
        _patched(api, other["metadata"]["name"], {"unschedulable": True})
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "100"}
    status = {"allocatable": amounts, "capacity": amounts}
    path, node = scheduling_scenarios.NODES, _node(scheduler)
    api.call("POST", path, {"kind": "Node", "apiVersion": "v1", "metadata": {"name": node}, "status": status})
    # Admission has tainted it: no kubelet has said yet that it is ready.
    _patched(api, node, {"taints": None})
    placed = isolated_namespace.created(kube, api, f"gangs-{scheduler}", operator)
    try:
        with placed as found, scheduling_scenarios.ours(kube.kubeconfig), found.operator("--gang-scheduler-name", scheduler):
            yield found
    finally:
        api.call("DELETE", f"{path}/{node}")


def _patched(api: Api, node: str, spec: Object) -> None:
    api.call("PATCH", f"{scheduling_scenarios.NODES}/{node}", {"spec": spec}, "application/merge-patch+json")


def _node(scheduler: str) -> str:
    """One for each: nobody takes the pods of the last one away with their namespace."""
    return f"{scheduler}-machine"


def workers(count: int, cpu: str) -> Object:
    return manifests.replicas("PyTorchJob", count, resources={"requests": {"cpu": cpu}})


def test_jobs_of_gangs_go_one_after_the_other_and_each_of_them_whole(there: IsolatedNamespace, scheduler: str) -> None:
    first = there.submit(manifests.job("PyTorchJob", "first", Worker=workers(3, "1")))
    eventually(lambda: [pod["spec"].get("nodeName") for pod in first.pods().values()] == [_node(scheduler)] * 3)
    there.kubelet.run(*first.pods())
    first.becomes("Running")

    def phase(name: str) -> str:
        found = there.api.find("podgroups", there.namespace, name, VERSIONS[scheduler]) or {}
        return str(found.get("status", {}).get("phase", ""))

    eventually(lambda: phase("first") == "Running")
    second = there.submit(manifests.job("PyTorchJob", "second", Worker=workers(2, "2")))
    if scheduler == "volcano":
        eventually(lambda: phase("second") == "Pending")
        consistently(lambda: second.pods() == {}, 0.5)
    else:
        eventually(lambda: len(second.pods()) == 2)
        consistently(lambda: not any(pod["spec"].get("nodeName") for pod in second.pods().values()), 0.5)
    there.kubelet.succeed(*first.pods())
    first.becomes("Succeeded")
    eventually(lambda: [pod["spec"].get("nodeName") for pod in second.pods().values()] == [_node(scheduler)] * 2)
