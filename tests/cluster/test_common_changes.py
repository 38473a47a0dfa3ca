"""Pods and services of a running job, for every kind with services: losses, edits and name conflicts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster import jobs_with_services, manifests
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.jobs_with_services import every_kind
from tests.cluster.manifests import CONTAINERS, FIELDS
from tests.cluster.submitted_job import PREFIX, Submit, SubmittedJob


def started(job: SubmittedJob, kubelet: FakeKubelet, count: int) -> dict[str, str]:
    """All pods of the job run; their UIDs by name."""
    eventually(lambda: len(job.pods()) == count)
    kubelet.run(*job.pods())
    job.becomes("Running")
    return job.uids()


def replaced(job: SubmittedJob, name: str, before: dict[str, str]) -> None:
    """Waits for a new pod of that name; all others must be as before."""
    eventually(
        lambda: job.uids().keys() == before.keys() and job.uids()[name] != before[name], because=f"{name} did not come back"
    )
    assert {**job.uids(), name: ""} == {**before, name: ""}


def scale(job: SubmittedJob, count: int) -> None:
    job.patch({FIELDS[job.kind]: {"Worker": {"replicas": count}}})


@every_kind
@pytest.mark.parametrize("state", ["Pending", "Running"])
@pytest.mark.checklist(45)
def test_a_pod_that_is_gone_at_once_is_recreated(submit: Submit, kubelet: FakeKubelet, kind: str, state: str) -> None:
    job = submit(jobs_with_services.job(kind, "Never"))
    count = len(jobs_with_services.names(kind))
    eventually(lambda: len(job.pods()) == count)
    before = started(job, kubelet, count) if state == "Running" else job.uids()

    job.api.delete("pods", job.namespace, "j-worker-1", grace=0 if state == "Running" else None)

    replaced(job, "j-worker-1", before)
    assert not job.is_true("Failed")
    kubelet.run(*job.pods())
    job.becomes("Running")


@pytest.mark.parametrize("kind", ["PyTorchJob", "PaddleJob"])
@pytest.mark.checklist(46)
def test_a_pod_deleted_gracefully_is_restarted_when_it_has_gone(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.job(kind, "OnFailure"))
    before = started(job, kubelet, len(jobs_with_services.names(kind)))

    job.api.delete("pods", job.namespace, "j-worker-1")

    eventually(lambda: job.states() == {"Created": "True", "Restarting": "True"})
    assert job.condition("Restarting")["reason"] == f"{kind}Restarting"
    consistently(lambda: job.uids() == before, 0.5)
    kubelet.gone("j-worker-1")
    replaced(job, "j-worker-1", before)
    kubelet.run("j-worker-1")
    eventually(lambda: job.states() == {"Created": "True", "Running": "True"})


ANY_POLICY = ("Never", "OnFailure", "Always", "ExitCode")
GRACEFUL = [
    *(("TFJob", policy) for policy in ANY_POLICY),
    *(("XGBoostJob", policy) for policy in ANY_POLICY),
    *((kind, "Never") for kind in ("PyTorchJob", "PaddleJob", "JAXJob")),
]


@pytest.mark.parametrize(("kind", "policy"), GRACEFUL)
@pytest.mark.checklist(47)
def test_a_pod_that_others_delete_is_no_failure_of_the_job(submit: Submit, kubelet: FakeKubelet, kind: str, policy: str) -> None:
    job = submit(jobs_with_services.job(kind, policy))
    before = started(job, kubelet, len(jobs_with_services.names(kind)))

    job.api.delete("pods", job.namespace, "j-worker-1")

    eventually(lambda: job.states() == {"Created": "True", "Restarting": "True"})
    kubelet.gone("j-worker-1")
    replaced(job, "j-worker-1", before)
    kubelet.run("j-worker-1")
    eventually(lambda: job.states() == {"Created": "True", "Running": "True"})
    assert job.restart_counts() == (0, 1)


@every_kind
@pytest.mark.checklist(48)
def test_a_deleted_service_is_recreated(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.job(kind))
    before = started(job, kubelet, len(jobs_with_services.names(kind)))
    first = job.api.get("services", job.namespace, "j-worker-0")

    job.api.delete("services", job.namespace, "j-worker-0")

    second = eventually(lambda: job.api.find("services", job.namespace, "j-worker-0"))
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["spec"] == first["spec"]
    assert job.uids() == before


@every_kind
@pytest.mark.checklist(49)
def test_fewer_replicas_take_the_last_pods_and_services_only(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 3, "Never"))
    kubelet.pod("j-worker-2")
    before = started(job, kubelet, 4 if kind == "XGBoostJob" else 3)
    kept = {name: uid for name, uid in before.items() if name not in ("j-worker-1", "j-worker-2")}

    scale(job, 1)

    for name in ("j-worker-1", "j-worker-2"):
        _leaves(job, name)
        kubelet.gone(name)
    eventually(lambda: job.uids() == kept and job.services() == kept.keys())
    consistently(lambda: job.uids() == kept, 0.3)
    assert all(not {"Failed", "Restarting"} & _types(status) for status in job.history())
    assert job.is_true("Running")


def _leaves(job: SubmittedJob, name: str) -> None:
    eventually(lambda: "deletionTimestamp" in job.pods()[name]["metadata"], because=f"{name} was not deleted")


def _types(status: Object) -> set[str]:
    return {entry["type"] for entry in status.get("conditions") or []}


@pytest.mark.parametrize(("kind", "role"), [("TFJob", "Evaluator"), ("TFJob", "PS"), ("PaddleJob", "Worker")])
def test_a_role_taken_out_of_the_job_leaves_no_pod_or_service(submit: Submit, kubelet: FakeKubelet, kind: str, role: str) -> None:
    job = submit(jobs_with_services.job(kind))
    before = started(job, kubelet, len(jobs_with_services.names(kind)))
    kept = {name: uid for name, uid in before.items() if f"-{role.lower()}-" not in name}

    job.patch({FIELDS[kind]: {role: None}})

    for name in before.keys() - kept.keys():
        _leaves(job, name)
        kubelet.gone(name)
    eventually(lambda: job.uids() == kept and job.services() == kept.keys())
    assert job.is_true("Running")


@every_kind
@pytest.mark.checklist(50)
def test_more_replicas_add_the_missing_ones_only(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 2))
    before = started(job, kubelet, 3 if kind == "XGBoostJob" else 2)
    more = {"j-worker-2", "j-worker-3"}

    scale(job, 4)

    eventually(lambda: job.uids().keys() == before.keys() | more and job.services() == before.keys() | more)
    assert {name: uid for name, uid in job.uids().items() if name not in more} == before


@every_kind
@pytest.mark.checklist(51)
def test_an_edited_template_is_for_pods_created_later(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 2))
    started(job, kubelet, 3 if kind == "XGBoostJob" else 2)
    before = _versions(job)
    containers = [{"name": CONTAINERS[kind], "image": "train:2"}]

    job.patch({FIELDS[kind]: {"Worker": {"template": {"spec": {"containers": containers}}}}})

    consistently(lambda: _versions(job) == before, 0.5)
    job.api.delete("pods", job.namespace, "j-worker-1", grace=0)
    eventually(lambda: _image(job, "j-worker-1") == "train:2")
    assert _image(job, "j-worker-0") == "train:1"


def _versions(job: SubmittedJob) -> dict[str, str]:
    return {name: pod["metadata"]["resourceVersion"] for name, pod in job.pods().items()}


def _image(job: SubmittedJob, pod: str) -> Any:
    return job.pods()[pod]["spec"]["containers"][0]["image"]


@every_kind
@pytest.mark.parametrize("disguised", [False, True], ids=["plain", "with-our-labels"])
@pytest.mark.checklist(52)
def test_a_foreign_pod_with_the_name_of_a_replica_is_reported_and_kept(
    submit: Submit, api: Api, namespace: str, kind: str, disguised: bool
) -> None:
    labels = {f"{PREFIX}job-name": "j", f"{PREFIX}operator-name": f"{kind.lower()}-controller"} if disguised else {}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "j-worker-1", "labels": labels}}
    stranger = api.create(namespace, {**body, "spec": {"containers": [{"name": "c", "image": "i"}]}})

    job = submit(jobs_with_services.job(kind))

    event = job.event("FailedCreatePod", "j-worker-1")
    assert event["type"] == "Warning"
    assert event["message"].startswith("Error creating: ")
    eventually(lambda: jobs_with_services.names(kind) - {"j-worker-1"} <= api.names("pods", namespace))
    assert api.get("pods", namespace, "j-worker-1") == stranger
    api.delete("pods", namespace, "j-worker-1", grace=0)
    eventually(lambda: job.pods()["j-worker-1"]["metadata"]["ownerReferences"][0]["uid"] == job.uid)


@pytest.mark.parametrize("kind", [*jobs_with_services.REPLICAS, "MPIJob"])
@pytest.mark.parametrize("reason", ["ImagePullBackOff", "CreateContainerConfigError"])
@pytest.mark.checklist(54)
def test_what_a_container_waits_for_is_reported_on_the_job(submit: Submit, kubelet: FakeKubelet, kind: str, reason: str) -> None:
    job = submit(manifests.job(kind, Launcher=1, Worker=1) if kind == "MPIJob" else jobs_with_services.job(kind))
    kubelet.bind("j-worker-0")

    kubelet.waiting("j-worker-0", reason, 'Back-off pulling image "train:1"')

    event = job.event(reason)
    assert event["type"] == "Warning"
    assert "j-worker-0" in event["message"]
    assert 'Back-off pulling image "train:1"' in event["message"]
    assert len(job.events(reason)) == 1
