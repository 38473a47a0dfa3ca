"""Existing objects with names that a job needs: its own are adopted, terminating ones are waited for, foreign ones are kept."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from tests.cluster import jobs_with_leader, manifests, mpi
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import Submit, SubmittedJob, labels

HOLD = "example.com/hold"


def owner(job: SubmittedJob, uid: str | None = None) -> Object:
    reference = {"apiVersion": "kubeflow.org/v1", "kind": job.kind, "name": job.name, "uid": uid or job.uid}
    return {**reference, "controller": True, "blockOwnerDeletion": True}


SPECS: dict[str, Object] = {
    "Pod": {"spec": {"containers": [{"name": "pytorch", "image": "old:1"}]}},
    "Service": {"spec": {"clusterIP": "None"}},
}


def an_object(kind: str, name: str, owners: list[Object], **more: Any) -> Object:
    meta = {"name": name, "ownerReferences": owners, **more}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **SPECS.get(kind, {})}


def suspended(submit: Submit, body: Object) -> SubmittedJob:
    """A job whose objects do not exist yet."""
    body["spec"]["runPolicy"] = {"suspend": True}
    job = submit(body)
    job.becomes("Suspended")
    return job


def resume(job: SubmittedJob) -> None:
    job.patch({"runPolicy": {"suspend": False}})


def complaints(job: SubmittedJob) -> list[str]:
    found = job.api.events(job.namespace, job.name)
    return [event["reason"] for event in found if event["type"] == "Warning"]


@pytest.mark.parametrize("kind", ["Pod", "Service"])
def test_an_object_of_the_job_without_our_labels_is_adopted(
    submit: Submit, api: Api, namespace: str, kubelet: FakeKubelet, kind: str
) -> None:
    job = suspended(submit, jobs_with_leader.job("PyTorchJob", 1))
    plural = f"{kind.lower()}s"
    before = api.create(namespace, an_object(kind, "j-worker-0", [owner(job)]))["metadata"]["uid"]

    resume(job)

    found = eventually(lambda: labels(api.get(plural, namespace, "j-worker-0")) and api.get(plural, namespace, "j-worker-0"))
    assert found["metadata"]["uid"] == before
    assert labels(found)["replica-type"] == "worker"
    kubelet.run("j-master-0", "j-worker-0")
    job.becomes("Running")
    assert complaints(job) == []


def test_a_config_map_of_the_job_without_our_labels_is_adopted_and_fixed(submit: Submit, api: Api, namespace: str) -> None:
    job = suspended(submit, mpi.job(1))
    stale = {**an_object("ConfigMap", "j-config", [owner(job)], labels={"app": "j"}), "data": {"hostfile": "stale"}}
    before = api.create(namespace, stale)["metadata"]["uid"]

    resume(job)

    eventually(lambda: mpi.files(job).get("hostfile") == "j-worker-0 slots=1\n")
    assert api.get("configmaps", namespace, "j-config")["metadata"]["uid"] == before
    assert complaints(job) == []


@pytest.mark.parametrize("labelled", [True, False], ids=["seen by the watch", "not seen by the watch"])
def test_a_pod_of_an_earlier_job_of_that_name_is_awaited(
    submit: Submit, api: Api, namespace: str, kubelet: FakeKubelet, labelled: bool
) -> None:
    job = suspended(submit, jobs_with_leader.job("PyTorchJob", 1))
    ours = {"training.kubeflow.org/job-name": "j", "training.kubeflow.org/operator-name": "pytorchjob-controller"}
    dead = owner(job, uid=str(uuid.uuid4()))
    earlier = an_object("Pod", "j-worker-0", [dead], labels=ours if labelled else {"app": "x"})
    before = api.create(namespace, earlier)["metadata"]["uid"]

    resume(job)

    kubelet.run("j-master-0")
    consistently(lambda: api.get("pods", namespace, "j-worker-0")["metadata"]["uid"] == before)
    api.delete("pods", namespace, "j-worker-0", grace=0)
    found = eventually(lambda: api.find("pods", namespace, "j-worker-0"), 5)
    assert found["metadata"]["ownerReferences"][0]["uid"] == job.uid
    assert complaints(job) == []


def test_a_job_recreated_under_its_name_gets_pods_of_its_own(
    submit: Submit, api: Api, namespace: str, kubelet: FakeKubelet
) -> None:
    first = submit(jobs_with_leader.job("PyTorchJob", 1))
    kubelet.run("j-master-0", "j-worker-0")
    first.becomes("Running")
    api.delete("pytorchjobs", namespace, "j")
    second = submit(jobs_with_leader.job("PyTorchJob", 1))
    second.becomes("Created")

    # The garbage collector, which here is the test: what the first job left goes.
    for name in ("j-master-0", "j-worker-0"):
        api.delete("pods", namespace, name, grace=0)
        api.delete("services", namespace, name)

    eventually(lambda: set(second.pods()) == {"j-master-0", "j-worker-0"}, 5)
    eventually(lambda: owners(api, "services", namespace) == {second.uid}, 5)
    assert owners(api, "pods", namespace) == {second.uid}
    assert complaints(second) == []


def owners(api: Api, plural: str, namespace: str) -> set[str]:
    return {entry["metadata"]["ownerReferences"][0]["uid"] for entry in api.all(plural, namespace)}


@pytest.mark.parametrize("kind", ["Pod", "Service"])
def test_an_object_that_is_being_deleted_is_awaited(submit: Submit, api: Api, namespace: str, kind: str) -> None:
    plural = f"{kind.lower()}s"
    leaving = api.create(namespace, an_object(kind, "j-worker-0", [], finalizers=[HOLD]))["metadata"]["uid"]
    api.delete(plural, namespace, "j-worker-0", grace=0)
    job = submit(jobs_with_leader.job("PyTorchJob", 1))
    eventually(lambda: api.find("pods", namespace, "j-master-0"))
    consistently(lambda: api.get(plural, namespace, "j-worker-0")["metadata"]["uid"] == leaving)

    api.patch(plural, namespace, "j-worker-0", {"metadata": {"finalizers": None}})

    found = eventually(lambda: _other_than(leaving, api.find(plural, namespace, "j-worker-0")), 5)
    assert found["metadata"]["ownerReferences"][0]["uid"] == job.uid
    assert complaints(job) == []


def _other_than(uid: str, found: Object | None) -> Object | None:
    return found if found is not None and found["metadata"]["uid"] != uid else None


@pytest.mark.checklist(52)
@pytest.mark.parametrize("kind", ["Pod", "Service"])
def test_a_foreign_object_is_reported_kept_and_replaced_after_its_deletion(
    submit: Submit, api: Api, namespace: str, kind: str
) -> None:
    plural = f"{kind.lower()}s"
    foreign = api.create(namespace, an_object(kind, "j-worker-0", [], labels={"mine": "yes"}))

    job = submit(jobs_with_leader.job("PyTorchJob", 1))

    event = job.event(f"FailedCreate{kind}")
    assert "already exists" in event["message"]
    eventually(lambda: job.why.get("reason") == "NameTaken")
    consistently(lambda: len(job.events(f"FailedCreate{kind}")) == 1)
    found = api.get(plural, namespace, "j-worker-0")
    assert (found["metadata"]["uid"], found["metadata"]["labels"]) == (foreign["metadata"]["uid"], {"mine": "yes"})
    assert "ownerReferences" not in found["metadata"]

    api.delete(plural, namespace, "j-worker-0", grace=0)

    eventually(lambda: owners(api, plural, namespace) == {job.uid}, 30)
    eventually(lambda: "why" not in job.status)


def test_a_service_account_that_exists_is_used_and_left_alone(submit: Submit, api: Api, namespace: str) -> None:
    before = api.create(namespace, an_object("ServiceAccount", "j-launcher", []))["metadata"]

    job = submit(manifests.job("MPIJob", Launcher=1, Worker=1))

    eventually(lambda: api.find("pods", namespace, "j-launcher"))
    assert api.get("serviceaccounts", namespace, "j-launcher")["metadata"]["resourceVersion"] == before["resourceVersion"]
    assert complaints(job) == []
