"""MPIJob v1 and v2beta1 in one CRD: the contract of a job does not depend on the version of the request."""

from __future__ import annotations

import msgspec
import pytest
from tests.cluster.api import Api, Object, rejected
from tests.validation.valid_manifests import BY_NAME, minimal

from traincrew.kinds import job_decoding

KIND = BY_NAME["MPIJob"]
DEFAULTS = {
    "slotsPerWorker": 1,
    "sshAuthMountPath": "/root/.ssh",
    "launcherCreationPolicy": "AtStartup",
    "mpiImplementation": "OpenMPI",
    "runLauncherAsWorker": False,
}


def mpijob(version: str) -> Object:
    document = minimal("MPIJob", Launcher=1, Worker=2)
    document["apiVersion"] = f"kubeflow.org/{version}"
    document["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
    return document


def contract(document: Object) -> str:
    return KIND.following(job_decoding.decode(KIND, msgspec.json.encode(document))).version


@pytest.mark.checklist(13)
@pytest.mark.parametrize("posted", ["v1", "v2beta1"])
def test_a_job_shows_the_contract_of_the_version_it_was_posted_through(api: Api, namespace: str, posted: str) -> None:
    api.create(namespace, mpijob(posted))
    stored = api.get("mpijobs", namespace, "j", version="v1")
    assert stored["apiVersion"] == "kubeflow.org/v1"
    assert {key: value for key, value in stored["spec"].items() if key in DEFAULTS} == (DEFAULTS if posted == "v2beta1" else {})
    assert contract(stored) == posted


@pytest.mark.parametrize("edited", ["v1", "v2beta1"])
@pytest.mark.parametrize("posted", ["v1", "v2beta1"])
def test_both_kinds_of_job_can_be_edited_through_both_versions(api: Api, namespace: str, posted: str, edited: str) -> None:
    api.create(namespace, mpijob(posted))
    patch = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 5}}}}
    api.patch("mpijobs", namespace, "j", patch, version=edited)
    found = api.get("mpijobs", namespace, "j", version="v1")
    assert found["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 5
    # Through v2beta1 its defaults come in, which is why the operator records the contract when it first sees a job.
    assert contract(found) == ("v2beta1" if "v2beta1" in (posted, edited) else "v1")


def test_the_recorded_contract_stands_whatever_is_edited(api: Api, namespace: str) -> None:
    api.create(namespace, mpijob("v1"))
    api.patch("mpijobs", namespace, "j", {"status": {"contract": "v1"}}, sub="status")
    api.patch("mpijobs", namespace, "j", {"metadata": {"labels": {"a": "b"}}}, version="v2beta1")
    found = api.get("mpijobs", namespace, "j")
    assert found["spec"]["sshAuthMountPath"] == "/root/.ssh"
    assert contract(found) == "v1"


def test_fields_of_either_version_are_kept_by_the_other(api: Api, namespace: str) -> None:
    document = mpijob("v1")
    document["spec"] |= {"mainContainer": "main", "cleanPodPolicy": "All"}
    api.create(namespace, document, fieldValidation="Strict")
    api.patch("mpijobs", namespace, "j", {"spec": {"launcherCreationPolicy": "WaitForWorkersReady"}}, version="v2beta1")
    found = api.get("mpijobs", namespace, "j", version="v2beta1")["spec"]
    assert (found["mainContainer"], found["cleanPodPolicy"]) == ("main", "All")
    assert api.get("mpijobs", namespace, "j")["spec"]["launcherCreationPolicy"] == "WaitForWorkersReady"


def test_an_unknown_implementation_is_rejected_by_v2beta1_alone(api: Api, namespace: str) -> None:
    document = mpijob("v2beta1")
    document["spec"]["mpiImplementation"] = "LAM"
    with rejected(422, 'spec.mpiImplementation: Unsupported value: "LAM"'):
        api.create(namespace, document, dryRun="All")
    api.create(namespace, {**document, "apiVersion": "kubeflow.org/v1"}, dryRun="All")


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_both_versions_have_scale_and_status(api: Api, namespace: str, version: str) -> None:
    api.create(namespace, mpijob(version))
    assert api.get("mpijobs", namespace, "j", "scale", version)["spec"] == {"replicas": 2}
    assert api.get("mpijobs", namespace, "j", "status", version)["apiVersion"] == f"kubeflow.org/{version}"
