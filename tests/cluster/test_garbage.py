"""What becomes of a job's objects when the job is deleted, with the real garbage collector at work."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import controllers, manifests, mpi, operators
from tests.cluster.api import Api, Object, eventually, steadily
from tests.cluster.spare import Place
from tests.cluster.submitted import Submitted
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
def _everybody(spare_kube: tuple[cluster.Cluster, Api, pathlib.Path]) -> Iterator[None]:
    kube, _, kubeconfig = spare_kube
    with controllers.running(kube, "job", "garbagecollector"), operators.running(kubeconfig):
        yield


def there(place: Place) -> dict[str, set[str]]:
    """Names of everything in the namespace, by resource; resources of which there is nothing are left out."""
    found = {plural: place.api.names(plural, place.namespace) for plural in PLURALS}
    return {plural: names for plural, names in found.items() if names}


def made(place: Place, name: str) -> Submitted:
    """A job of which everything is there."""
    job = place.submit(JOBS[name])
    eventually(lambda: there(place).keys() == MADE[name] and len(job.pods()) >= 2)
    if name == "MPIJob v2beta1":
        eventually(lambda: len(job.pods()) == 3)  # the launcher's pod is the Job controller's
    return job


@pytest.mark.contract(12)
@pytest.mark.parametrize("name", JOBS)
def test_everything_goes_with_the_job(place: Place, name: str) -> None:
    job = made(place, name)
    assert "finalizers" not in job.read()["metadata"]
    place.api.delete(job.plural, place.namespace, "j")
    assert job.gone
    eventually(lambda: there(place) == {})


@pytest.mark.contract(12)
@pytest.mark.parametrize("name", ["PyTorchJob", "MPIJob v1", "MPIJob v2beta1"])
def test_nothing_is_made_again_while_a_job_waits_for_its_objects_to_go(place: Place, name: str) -> None:
    job = made(place, name)
    worker = "j-worker-0"
    place.kubelet.run(worker)  # on a node, so that it takes its time to go
    command = ("delete", job.plural, "j", "-n", place.namespace, "--cascade=foreground", "--wait=false")
    assert place.kube.kubectl(*command).returncode == 0
    eventually(lambda: there(place) == {"pods": {worker}})
    steadily(lambda: there(place) == {"pods": {worker}} and not job.gone, 0.5)
    place.kubelet.gone(worker)
    eventually(lambda: job.gone and there(place) == {})


def test_an_account_that_the_user_named_stays(place: Place) -> None:
    body = mpi.job(1)
    mpi.template(body, "Launcher")["serviceAccountName"] = "ours"
    place.submit(body)
    place.kubelet.pod("j-launcher")
    place.api.delete("mpijobs", place.namespace, "j")
    eventually(lambda: there(place) == {"serviceaccounts": {"ours"}})
    steadily(lambda: there(place) == {"serviceaccounts": {"ours"}}, 0.5)


@pytest.mark.parametrize("name", ["MPIJob v1", "MPIJob v2beta1"])
def test_a_job_of_the_same_name_starts_as_soon_as_the_old_objects_are_gone(place: Place, name: str) -> None:
    first = made(place, name)
    before = {pod["metadata"]["uid"] for pod in first.pods().values()}
    place.api.delete("mpijobs", place.namespace, "j")
    second = place.submit(JOBS[name])
    eventually(lambda: len(pods := second.pods()) == 3 and not before & {pod["metadata"]["uid"] for pod in pods.values()})
    eventually(lambda: there(place).keys() == MADE[name])
    version = JOBS[name]["apiVersion"].partition("/")[2]
    for plural in MADE[name] - {"pods"}:
        assert all(mpi.owned_by(entry, second, version) for entry in place.api.all(plural, place.namespace))
    assert second.events("ErrResourceExists") + second.events("FailedCreatePod") == []
