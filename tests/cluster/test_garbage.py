"""The objects of a deleted job, with the real garbage collector."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import controller_manager, manifests, mpi, operators
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.submitted_job import SubmittedJob
from tools.kube import cluster

METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
JOBS: dict[str, Object] = {
    "TFJob": manifests.job("TFJob", PS=1, Worker=2),
    "PyTorchJob": manifests.job("PyTorchJob", spec={"elasticPolicy": {"metrics": [METRIC]}}, Worker=2),
    "XGBoostJob": manifests.job("XGBoostJob", Master=1, Worker=1),
    "PaddleJob": manifests.job("PaddleJob", Worker=2),
    "JAXJob": manifests.job("JAXJob", Worker=2),
    "MPIJob v1": mpi.job(2),
    "MPIJob v2beta1": mpi.job(2, version="v2beta1"),
}
MADE: dict[str, set[str]] = {
    "TFJob": {"pods", "services"},
    "PyTorchJob": {"pods", "services", "horizontalpodautoscalers"},
    "XGBoostJob": {"pods", "services"},
    "PaddleJob": {"pods", "services"},
    "JAXJob": {"pods", "services"},
    "MPIJob v1": {"pods", "configmaps", "roles", "rolebindings", "serviceaccounts"},
    "MPIJob v2beta1": {"pods", "services", "configmaps", "secrets", "jobs"},
}
PLURALS = sorted(set().union(*MADE.values()))


@pytest.fixture(scope="module", autouse=True)
def _everybody(second_kube: tuple[cluster.Cluster, Api, pathlib.Path]) -> Iterator[None]:
    kube, _, kubeconfig = second_kube
    with controller_manager.running(kube, "job", "garbagecollector"), operators.running(kubeconfig):
        yield


def there(isolated: IsolatedNamespace) -> dict[str, set[str]]:
    """Names of everything in the namespace, by resource; resources of which there is nothing are left out."""
    found = {plural: isolated.api.names(plural, isolated.namespace) for plural in PLURALS}
    return {plural: names for plural, names in found.items() if names}


def made(isolated: IsolatedNamespace, name: str) -> SubmittedJob:
    """A job of which everything is there."""
    job = isolated.submit(JOBS[name])
    eventually(lambda: there(isolated).keys() == MADE[name] and len(job.pods()) >= 2)
    if name == "MPIJob v2beta1":
        eventually(lambda: len(job.pods()) == 3)  # the launcher's pod is the Job controller's
    return job


@pytest.mark.checklist(12)
@pytest.mark.parametrize("name", JOBS)
def test_everything_goes_with_the_job(isolated: IsolatedNamespace, name: str) -> None:
    job = made(isolated, name)
    assert "finalizers" not in job.read()["metadata"]
    isolated.api.delete(job.plural, isolated.namespace, "j")
    assert job.gone
    eventually(lambda: there(isolated) == {})


@pytest.mark.checklist(12)
@pytest.mark.parametrize("name", ["PyTorchJob", "MPIJob v1", "MPIJob v2beta1"])
def test_nothing_is_recreated_while_a_job_waits_for_its_objects_to_go(isolated: IsolatedNamespace, name: str) -> None:
    job = made(isolated, name)
    worker = "j-worker-0"
    isolated.kubelet.run(worker)  # on a node, so that it takes its time to go
    command = ("delete", job.plural, "j", "-n", isolated.namespace, "--cascade=foreground", "--wait=false")
    assert isolated.kube.kubectl(*command).returncode == 0
    eventually(lambda: there(isolated) == {"pods": {worker}})
    consistently(lambda: there(isolated) == {"pods": {worker}} and not job.gone, 0.5)
    isolated.kubelet.gone(worker)
    eventually(lambda: job.gone and there(isolated) == {})


def test_an_account_that_the_user_named_stays(isolated: IsolatedNamespace) -> None:
    body = mpi.job(1)
    mpi.template(body, "Launcher")["serviceAccountName"] = "ours"
    isolated.submit(body)
    isolated.kubelet.pod("j-launcher")
    isolated.api.delete("mpijobs", isolated.namespace, "j")
    eventually(lambda: there(isolated) == {"serviceaccounts": {"ours"}})
    consistently(lambda: there(isolated) == {"serviceaccounts": {"ours"}}, 0.5)


@pytest.mark.parametrize("name", ["MPIJob v1", "MPIJob v2beta1"])
def test_a_job_of_the_same_name_starts_as_soon_as_the_old_objects_are_gone(isolated: IsolatedNamespace, name: str) -> None:
    first = made(isolated, name)
    before = {pod["metadata"]["uid"] for pod in first.pods().values()}
    isolated.api.delete("mpijobs", isolated.namespace, "j")
    second = isolated.submit(JOBS[name])
    eventually(lambda: len(pods := second.pods()) == 3 and not before & {pod["metadata"]["uid"] for pod in pods.values()})
    eventually(lambda: there(isolated).keys() == MADE[name])
    version = JOBS[name]["apiVersion"].partition("/")[2]
    for plural in MADE[name] - {"pods"}:
        assert all(mpi.owned_by(entry, second, version) for entry in isolated.api.all(plural, isolated.namespace))
    assert second.events("ErrResourceExists") + second.events("FailedCreatePod") == []
