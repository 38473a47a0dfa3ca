"""Jobs that the API server accepts and the operator rejects: new jobs fail, running jobs are kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster import jobs_with_services, manifests
from tests.cluster.api import Api, Object, RejectedRequest, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.jobs_with_services import every_kind
from tests.cluster.manifests import FIELDS
from tests.cluster.submitted_job import Submit, SubmittedJob
from tools.kube import cluster

OBJECTS = ("pods", "services", "configmaps", "roles", "rolebindings", "jobs", "secrets")


def assert_rejected(job: SubmittedJob, reason: str, *texts: str) -> None:
    """The job has failed with that reason, has an end, is reported by an event, and nothing was created for it."""
    found = job.becomes("Failed")
    assert found["reason"] == reason
    assert all(text in found["message"] for text in texts), found["message"]
    assert job.states() == {"Created": "True", "Failed": "True"}
    assert job.status["completionTime"] == found["lastTransitionTime"]
    event = job.event(reason)
    assert (event["type"], event["message"]) == ("Warning", found["message"])
    consistently(lambda: not any(job.api.names(plural, job.namespace) - _NATIVE for plural in OBJECTS), 0.2)


_NATIVE = {"kube-root-ca.crt"}  # the config map that a controller manager, where there is one, puts into every namespace


@pytest.mark.checklist(31)
def test_an_mpi_job_without_a_launcher_is_reported(submit: Submit) -> None:
    job = submit(manifests.job("MPIJob", Worker=2))

    assert_rejected(job, "MPIJobFailedValidation", "spec.mpiReplicaSpecs[Launcher]: must be present")


@pytest.mark.checklist(32)
def test_an_mpi_job_with_two_launchers_is_reported(submit: Submit) -> None:
    job = submit(manifests.job("MPIJob", Launcher=2, Worker=2))

    assert_rejected(job, "MPIJobFailedValidation", "spec.mpiReplicaSpecs[Launcher].replicas: must be 1, got 2")


@pytest.mark.parametrize("role", ["Launcher", "Worker"])
@pytest.mark.checklist(33)
def test_an_mpi_job_by_ssh_with_restart_policy_always_is_reported(submit: Submit, role: str) -> None:
    roles: Object = {"Launcher": 1, "Worker": 1, role: manifests.replicas("MPIJob", 1, "Always")}
    job = submit(manifests.job("MPIJob", version="v2beta1", **roles))

    assert_rejected(job, "ValidationError", f"spec.mpiReplicaSpecs[{role}].restartPolicy", "'Always'")


def test_a_job_of_any_depth_does_not_stop_the_operator(submit: Submit, api: Api, namespace: str) -> None:
    body = jobs_with_services.workers("JAXJob", 1, name="deep")
    body["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["unknown"] = "NESTED"
    text = json.dumps(body).replace('"NESTED"', "[" * 5_000 + "]" * 5_000)
    url = api.server + api.path("jaxjobs", namespace)
    accepted = api.session.post(url, data=text, headers={"Content-Type": "application/json"}, timeout=60).ok
    try:
        submit(jobs_with_services.workers("JAXJob", 1)).becomes("Created")
        if accepted:  # the embedded API server rejects it
            eventually(lambda: any("unknown field" in each["message"] for each in api.events(namespace, "deep")))
    finally:
        api.session.delete(f"{url}/deep", timeout=60)  # other tests list the jobs of all namespaces


@every_kind
def test_a_name_too_long_for_its_services_fails_the_job(submit: Submit, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 1, name="n" * 55))

    assert_rejected(job, f"{kind}FailedValidation", "metadata.name", "n" * 55 + "-worker-0", "the maximum is 63")


@every_kind
def test_the_longest_name_that_fits_runs(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 1, name="n" * 54))

    kubelet.run(*(["n" * 54 + "-master-0"] if kind == "XGBoostJob" else []), "n" * 54 + "-worker-0")

    job.becomes("Running")


@every_kind
def test_an_unknown_restart_policy_fails_the_job(submit: Submit, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 1, policy="Sometimes"))

    assert_rejected(job, f"{kind}FailedValidation", f"spec.{FIELDS[kind]}[Worker].restartPolicy", "'Sometimes'")


UNUSABLE: list[Any] = [
    pytest.param({"Worker": 1, "Wroker": 1}, "unsupported replica type 'Wroker'", id="an unknown role"),
    pytest.param({"Worker": 1, "worker": 1}, "given more than once", id="a role twice"),
    pytest.param({}, "spec.tfReplicaSpecs: must be required", id="no role"),
]


@pytest.mark.parametrize(("roles", "text"), UNUSABLE)
def test_a_tfjob_whose_roles_cannot_be_used_fails(submit: Submit, roles: Object, text: str) -> None:
    assert_rejected(submit(manifests.job("TFJob", **roles)), "TFJobFailedValidation", text)


def test_a_role_that_is_null_counts_as_left_out(submit: Submit) -> None:
    assert_rejected(
        submit(manifests.job("JAXJob", Worker=None)), "JAXJobFailedValidation", "spec.jaxReplicaSpecs: must be required"
    )
    job = submit(manifests.job("TFJob", Chief=1, Worker=None))

    eventually(lambda: job.pods().keys() == {"j-chief-0"})


def test_all_violations_are_reported_at_once(submit: Submit) -> None:
    body = jobs_with_services.workers("TFJob", 1, name="n" * 60, policy="Sometimes")
    body["spec"]["tfReplicaSpecs"]["Foo"] = manifests.replicas("TFJob", 1)

    assert_rejected(submit(body), "TFJobFailedValidation", "metadata.name", "'Sometimes'", "'Foo'")


def test_an_invalid_job_fails_so_that_clients_stop_waiting(submit: Submit, kube: cluster.Cluster) -> None:
    job = submit(manifests.job("TFJob", Foo=1))

    waited = kube.kubectl("wait", "--for=condition=Failed", "--timeout=20s", f"--namespace={job.namespace}", "tfjob/j")

    assert waited.returncode == 0, waited.stderr


def test_an_invalid_job_goes_when_its_time_is_over(submit: Submit) -> None:
    job = submit(manifests.job("TFJob", Foo=1, run={"ttlSecondsAfterFinished": 0}))

    eventually(lambda: job.gone)


@every_kind
def test_an_invalid_edit_of_a_running_job_touches_no_pod(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.job(kind, "OnFailure"))
    before = _started(job, kubelet, kind)

    job.patch({FIELDS[kind]: {"Worker": {"restartPolicy": "Sometimes", "replicas": 1}}})

    event = job.event("InvalidSpec", "'Sometimes'")
    assert event["type"] == "Warning"
    eventually(lambda: job.why["reason"] == "InvalidSpec")
    assert f"spec.{FIELDS[kind]}[Worker].restartPolicy" in job.why["message"]
    consistently(lambda: _versions(job) == before, 0.5)
    assert job.is_true("Running")
    job.patch({FIELDS[kind]: {"Worker": {"restartPolicy": "OnFailure"}}})
    eventually(lambda: "deletionTimestamp" in job.pods()["j-worker-1"]["metadata"])
    eventually(lambda: not job.why)


def _started(job: SubmittedJob, kubelet: FakeKubelet, kind: str) -> dict[str, str]:
    kubelet.run(*jobs_with_services.names(kind))
    job.becomes("Running")
    eventually(lambda: job.services() == jobs_with_services.names(kind))
    return _versions(job)


def _versions(job: SubmittedJob) -> dict[str, str]:
    return {name: pod["metadata"]["resourceVersion"] for name, pod in job.pods().items()}


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob"])
def test_a_job_with_an_invalid_edit_still_succeeds(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.job(kind))
    _started(job, kubelet, kind)
    job.patch({FIELDS[kind]: {"Worker": {"restartPolicy": "Sometimes"}}})
    eventually(lambda: job.why["reason"] == "InvalidSpec")

    kubelet.succeed("j-chief-0" if kind == "TFJob" else "j-master-0")

    job.becomes("Succeeded")
    eventually(lambda: not job.why)


def test_an_mpi_job_that_loses_its_launcher_by_an_edit_keeps_its_pods(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(manifests.job("MPIJob", Launcher=1, Worker=2))
    kubelet.run("j-worker-0", "j-worker-1", "j-launcher")
    job.becomes("Running")
    eventually(lambda: "j-worker-1" in job.api.get("configmaps", job.namespace, "j-config")["data"]["discover_hosts.sh"])
    before = job.uids()

    job.patch({"mpiReplicaSpecs": {"Launcher": None}})

    job.event("InvalidSpec", "spec.mpiReplicaSpecs[Launcher]: must be present")
    consistently(lambda: job.uids() == before, 0.5)
    assert all("deletionTimestamp" not in pod["metadata"] for pod in job.pods().values())
    assert job.is_true("Running")


POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


@pytest.fixture
def frozen_status(api: Api, namespace: str) -> Iterator[str]:
    """An admission policy by which every status of a TFJob in the namespace is refused with 422."""
    rule = {"apiGroups": ["kubeflow.org"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["tfjobs/status"]}
    policy = {"failurePolicy": "Fail", "validations": [{"expression": "false", "message": "no status today"}]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    binding = {"policyName": namespace, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": selector}}
    for path, kind, spec in (
        (POLICIES, "ValidatingAdmissionPolicy", {**policy, "matchConstraints": {"resourceRules": [rule]}}),
        (BINDINGS, "ValidatingAdmissionPolicyBinding", binding),
    ):
        body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": namespace}, "spec": spec}
        try:
            api.call("POST", path, body)
        except RejectedRequest as answer:
            if answer.code == 404:
                pytest.skip("this API server has no admission policies")
            raise
    _wait_for_the_policy(api, namespace)
    yield namespace
    for path in (BINDINGS, POLICIES):
        api.call("DELETE", f"{path}/{namespace}")


def _wait_for_the_policy(api: Api, namespace: str) -> None:
    probe = manifests.job("TFJob", "probe", Worker=1, run={"managedBy": "kueue.x-k8s.io/multikueue"})
    api.create(namespace, probe)

    def refuses() -> bool:
        try:
            api.patch("tfjobs", namespace, "probe", {"status": {"startTime": "2024-01-01T00:00:00Z"}}, "status")
        except RejectedRequest as answer:
            return answer.code == 422
        return False

    eventually(refuses, because="the admission policy does not act")


def test_a_rejected_status_is_reported_and_retried_when_the_job_changes(
    submit: Submit, kube: cluster.Cluster, frozen_status: str
) -> None:
    start = kube.audit_size()
    job = submit(manifests.job("TFJob", Worker=1))

    event = job.event("StatusRejected", "no status today")

    assert event["type"] == "Warning"
    consistently(lambda: _status_writes(kube, start, job) == 1)
    assert job.pods() == {}
    job.api.patch("tfjobs", job.namespace, "j", {"metadata": {"annotations": {"touched": "yes"}}})
    eventually(lambda: _status_writes(kube, start, job) == 2)


def _status_writes(kube: cluster.Cluster, start: int, job: SubmittedJob) -> int:
    path = f"/namespaces/{job.namespace}/tfjobs/j/status"
    return sum(entry["requestURI"].split("?")[0].endswith(path) for entry in kube.audit(start))
