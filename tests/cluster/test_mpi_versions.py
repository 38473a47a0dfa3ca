"""MPIJobs of both API versions side by side: each follows the behaviour of its own version."""

from __future__ import annotations

import functools

import pytest
from tests.cluster import mpi
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import Submit, labels


def named(name: str, body: Object) -> Object:
    return {**body, "metadata": {"name": name}}


@pytest.mark.checklist(13)
def test_both_versions_live_in_one_namespace_and_keep_their_ways(submit: Submit, api: Api, namespace: str) -> None:
    by_exec = submit(named("a", mpi.job(1)))
    by_ssh = submit(named("b", mpi.job(1, version="v2beta1")))
    eventually(lambda: api.names("pods", namespace) == {"a-launcher", "a-worker-0", "b-worker-0"})
    eventually(lambda: api.names("jobs", namespace) == {"b-launcher"})
    assert api.names("roles", namespace) == {"a-launcher"}
    assert api.names("secrets", namespace) == {"b-ssh"}
    assert api.names("services", namespace) == {"b"}
    assert mpi.files(by_exec)["hostfile"] == "a-worker-0 slots=1\n"
    assert mpi.files(by_ssh)["hostfile"] == f"b-worker-0.b.{namespace}.svc slots=1\n"
    assert labels(by_exec.pods()["a-worker-0"])["operator-name"] == "mpijob-controller"
    assert labels(by_ssh.pods()["b-worker-0"])["operator-name"] == "mpi-operator"
    assert (by_exec.status["contract"], by_ssh.status["contract"]) == ("v1", "v2beta1")


@pytest.mark.checklist(13)
@pytest.mark.parametrize(("posted", "edited"), [("v1", "v2beta1"), ("v2beta1", "v1")])
def test_a_job_scaled_through_the_other_version_stays_what_it_is(
    submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str, posted: str, edited: str
) -> None:
    job = submit(mpi.job(1, version=posted))
    kubelet.pod("j-worker-0")
    eventually(lambda: job.status["contract"] == posted)
    change = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2}}}}
    api.patch("mpijobs", namespace, "j", change, version=edited)
    operator = "mpijob-controller" if posted == "v1" else "mpi-operator"
    assert labels(kubelet.pod("j-worker-1"))["operator-name"] == operator
    consistently(lambda: bool(api.names("jobs", namespace)) == (posted == "v2beta1"), 0.5)
    assert bool(api.names("roles", namespace)) == (posted == "v1")
    host = "j-worker-1" if posted == "v1" else f"j-worker-1.j.{namespace}.svc"
    assert mpi.files(job)["hostfile"].splitlines()[1] == f"{host} slots=1"


@pytest.mark.checklist(13)
def test_both_versions_read_the_same_job(submit: Submit, api: Api, namespace: str) -> None:
    job = submit(mpi.job(1, version="v2beta1"))
    eventually(lambda: job.status.get("conditions"))
    for version in ("v1", "v2beta1"):
        found = api.get("mpijobs", namespace, "j", version=version)
        assert found["apiVersion"] == f"kubeflow.org/{version}"
        assert found["status"]["conditions"][0]["message"] == f"MPIJob {namespace}/j is created."


@pytest.mark.parametrize("posted", ["v1", "v2beta1"])
def test_the_scale_of_both_versions_has_the_selector_of_the_workers(
    submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str, posted: str
) -> None:
    submit(mpi.job(2, version=posted))
    kubelet.run("j-worker-0", "j-worker-1")
    for version in ("v1", "v2beta1"):
        scale = eventually(functools.partial(scaled, api, namespace, version, 2))
        workers = api.all("pods", namespace, scale["status"]["selector"])
        assert {pod["metadata"]["name"] for pod in workers} == {"j-worker-0", "j-worker-1"}


def scaled(api: Api, namespace: str, version: str, active: int) -> Object | None:
    found = api.get("mpijobs", namespace, "j", "scale", version)
    return found if found["status"]["replicas"] == active else None
