"""Jobs in namespaces that enforce the PodSecurity level `restricted`: the operator adds nothing that violates it."""

from __future__ import annotations

import pytest
from tests.cluster import manifests, mpi
from tests.cluster.api import Api, Object, eventually
from tests.cluster.submitted_job import Submit

COMPLYING = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}

JOBS = {
    "TFJob": (manifests.job("TFJob", Chief=1, PS=1, Worker=1), {"j-chief-0", "j-ps-0", "j-worker-0"}),
    "PyTorchJob": (manifests.job("PyTorchJob", Master=1, Worker=1), {"j-master-0", "j-worker-0"}),
    "MPIJob": (mpi.job(1), {"j-launcher", "j-worker-0"}),
    "MPIJob v2beta1": (mpi.job(1, version="v2beta1"), {"j-worker-0"}),
    "XGBoostJob": (manifests.job("XGBoostJob", Master=1, Worker=1), {"j-master-0", "j-worker-0"}),
    "PaddleJob": (manifests.job("PaddleJob", Master=1, Worker=1), {"j-master-0", "j-worker-0"}),
    "JAXJob": (manifests.job("JAXJob", Worker=1), {"j-worker-0"}),
}


def restricted(api: Api, namespace: str) -> None:
    api.patch("namespaces", "", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})


def complying(body: Object) -> Object:
    field = manifests.FIELDS[body["kind"]]
    for role in body["spec"][field].values():
        role["template"]["spec"]["containers"][0]["securityContext"] = COMPLYING
    return body


@pytest.mark.parametrize("name", JOBS)
def test_a_complying_job_starts(submit: Submit, api: Api, namespace: str, name: str) -> None:
    restricted(api, namespace)
    body, pods = JOBS[name]
    job = submit(complying(body))
    eventually(lambda: job.pods().keys() == pods)
    added = [each for pod in job.pods().values() for each in pod["spec"].get("initContainers", [])]
    assert [each["securityContext"] for each in added] == [COMPLYING] * len(added)


def test_the_launcher_of_a_complying_v2beta1_mpijob_is_admitted(submit: Submit, api: Api, namespace: str) -> None:
    """Its pod is created by the controller of batch jobs: here, the API server is asked what it would say."""
    restricted(api, namespace)
    submit(complying(mpi.job(1, version="v2beta1")))
    template = mpi.there(api, "jobs", namespace, "j-launcher")["spec"]["template"]
    assert [each["name"] for each in template["spec"]["initContainers"]] == ["wait-for-workers"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "launcher"}, "spec": template["spec"]}
    api.create(namespace, pod, dryRun="All")


def test_a_job_that_does_not_comply_says_so(submit: Submit, api: Api, namespace: str) -> None:
    restricted(api, namespace)
    job = submit(mpi.job(1))
    eventually(lambda: job.why.get("reason") == "FailedCreatePod")
    assert 'violates PodSecurity "restricted:latest"' in job.why["message"]
    assert job.pods() == {}
