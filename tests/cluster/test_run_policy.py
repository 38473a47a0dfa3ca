"""runPolicy: clean-up, deadline, back-off limit and time to live."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.cluster import jobs_with_leader, manifests
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import SubmittedJob

pytestmark = pytest.mark.usefixtures("operator")

BACKOFF = "Job j has failed because it has reached the specified backoff limit"
TTL_EVENTS = {
    "TFJob": "SuccessfulDeleteJob", "MPIJob": "SuccessfulDeleteJob", "XGBoostJob": "SuccessfulDeleteJob",
    "PyTorchJob": "SuccessfulDeletePod", "PaddleJob": "SuccessfulDeletePod", "JAXJob": "SuccessfulDeletePod",
}  # fmt: skip


@pytest.mark.checklist(165)
@jobs_with_leader.every_led_kind
def test_the_policy_running_removes_what_runs_or_waits_and_keeps_what_is_done(
    kind: str, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 3, run={"cleanPodPolicy": "Running"}))
    kubelet.run(jobs_with_leader.leader(kind), "j-worker-0", "j-worker-1")
    kubelet.succeed("j-worker-1")
    kubelet.pod("j-worker-2")  # stays Pending

    kubelet.succeed(jobs_with_leader.leader(kind))

    job.becomes("Succeeded")
    eventually(lambda: job.pods()["j-worker-0"]["metadata"].get("deletionTimestamp"))
    kubelet.gone("j-worker-0")
    kept = [jobs_with_leader.leader(kind), "j-worker-1"]
    eventually(lambda: set(job.pods()) == set(kept))
    eventually(lambda: job.services() == jobs_with_leader.services(kind, kept))
    consistently(lambda: set(job.pods()) == set(kept) and job.services() == jobs_with_leader.services(kind, kept), 0.5)


@pytest.mark.checklist(165)
@pytest.mark.parametrize("kind", ["JAXJob", "PyTorchJob"])
def test_the_policy_running_keeps_the_pod_that_failed(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(
        api, namespace, manifests.job(kind, Worker=manifests.replicas(kind, 2, "Never"), run={"cleanPodPolicy": "Running"})
    )
    kubelet.run("j-worker-0")
    kubelet.run("j-worker-1", bind=False)

    kubelet.fail("j-worker-0")

    job.becomes("Failed")
    eventually(lambda: set(job.pods()) == job.services() == {"j-worker-0"})
    consistently(lambda: set(job.pods()) == job.services() == {"j-worker-0"}, 0.5)


@pytest.mark.checklist(166)
@jobs_with_leader.every_kind
def test_the_policy_all_removes_everything(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 1, run={"cleanPodPolicy": "All"}))
    for name in jobs_with_leader.pods(kind):
        kubelet.run(name, bind=False)

    kubelet.succeed(jobs_with_leader.leader(kind))

    job.becomes("Succeeded")
    eventually(lambda: not job.pods() and not job.services())


@pytest.mark.checklist(166)
@jobs_with_leader.every_kind
def test_the_policy_none_removes_nothing(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 1, run={"cleanPodPolicy": "None"}))
    names = jobs_with_leader.pods(kind)
    kubelet.run(*names)
    uids = {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}

    kubelet.succeed(jobs_with_leader.leader(kind))

    job.becomes("Succeeded")
    consistently(lambda: job.services() == jobs_with_leader.services(kind, names) and set(job.pods()) == set(names), 0.5)
    found = job.pods()
    assert {name: pod["metadata"]["uid"] for name, pod in found.items()} == uids
    assert not any(pod["metadata"].get("deletionTimestamp") for pod in found.values())


@pytest.mark.checklist(167, 181)
def test_finished_jobs_of_every_kind_expire_when_their_time_is_over(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    jobs = {kind: _finished(kind, 5, api, kubelet, namespace) for kind in jobs_with_leader.EVERY}
    ends = {kind: _time(job.status["completionTime"]) for kind, job in jobs.items()}
    for kind, job in jobs.items():
        eventually(lambda job=job: job.gone)  # type: ignore[misc]
        event = job.event(TTL_EVENTS[kind], f"Deleted job: {job.name}")
        assert event["type"] == "Normal"
        assert _time(event["firstTimestamp"]) - ends[kind] >= dt.timedelta(seconds=5), kind


@pytest.mark.checklist(167)
@pytest.mark.parametrize("kind", ["TFJob", "JAXJob"])
def test_a_finished_job_that_has_no_time_left_goes_at_once(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, run={"ttlSecondsAfterFinished": 0}))
    kubelet.run(*jobs_with_leader.pods(kind))
    assert not job.gone
    kubelet.succeed(jobs_with_leader.leader(kind))
    eventually(lambda: job.gone)


@pytest.mark.checklist(168)
def test_jobs_of_every_kind_fail_in_time_when_they_take_too_long(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    run = {"activeDeadlineSeconds": 5, "cleanPodPolicy": "None"}
    jobs = {
        kind: SubmittedJob(api, namespace, jobs_with_leader.job(kind, run=run, name=kind.lower()))
        for kind in jobs_with_leader.EVERY
    }
    for kind, job in jobs.items():
        for name in jobs_with_leader.pods(kind, name=job.name):
            kubelet.run(name, bind=False)
    for kind, job in jobs.items():
        failed = job.becomes("Failed")
        assert failed["reason"] == f"{kind}Failed"
        assert failed["message"] == f"Job {job.name} has failed because it was active longer than specified deadline"
        status = job.status
        assert _time(status["completionTime"]) - _time(status["startTime"]) >= dt.timedelta(seconds=5), kind
        eventually(lambda job=job: not job.pods() and not job.services())  # type: ignore[misc]
        assert job.event(f"{kind}Failed", "active longer than specified deadline")


@pytest.mark.checklist(169)
@jobs_with_leader.every_kind
def test_restarts_inside_pods_count_together_against_the_limit(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    run = {"backoffLimit": 2, "cleanPodPolicy": "None"}
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 2, "OnFailure", run=run))
    names = jobs_with_leader.pods(kind, 2)
    for name in names:
        kubelet.run(name, bind=False)
    job.becomes("Running")
    kubelet.restart(names[0], 1)
    eventually(lambda: job.status["failure"]["pod"] == names[0])
    consistently(lambda: "Failed" not in job.states(), 0.5)

    kubelet.restart(names[1], 1)

    failed = job.becomes("Failed")
    assert (failed["reason"], failed["message"]) == (f"{kind}Failed", BACKOFF)
    eventually(lambda: not job.pods() and not job.services())
    assert job.status["completionTime"]


@pytest.mark.checklist(169)
@pytest.mark.parametrize("kind", ["PyTorchJob", "JAXJob"])
def test_pods_that_were_re_created_count_against_the_limit(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(
        api, namespace, manifests.job(kind, Worker=manifests.replicas(kind, 1, "OnFailure"), run={"backoffLimit": 1})
    )
    kubelet.run("j-worker-0")
    first = job.pods()["j-worker-0"]["metadata"]["uid"]
    kubelet.fail("j-worker-0")
    eventually(lambda: kubelet.pod("j-worker-0")["metadata"]["uid"] != first)
    kubelet.run("j-worker-0")
    eventually(lambda: job.states() == {"Created": "True", "Running": "True"})

    kubelet.fail("j-worker-0")

    assert job.becomes("Failed")["message"] == BACKOFF
    eventually(lambda: not job.pods() and not job.services())


@pytest.mark.checklist(170)
@jobs_with_leader.every_kind
def test_a_limit_of_zero_is_reached_with_the_first_failed_pod(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 1, "OnFailure", run={"backoffLimit": 0}))
    for name in jobs_with_leader.pods(kind):
        kubelet.run(name, bind=False)
    job.becomes("Running")

    kubelet.fail("j-worker-0")

    assert job.becomes("Failed")["message"] == BACKOFF
    eventually(lambda: not job.pods())
    assert all("Restarting" not in _types(status) for status in job.history())


@pytest.mark.checklist(170)
@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob"])
def test_a_limit_of_zero_is_reached_with_the_first_restart(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 1, "OnFailure", run={"backoffLimit": 0}))
    kubelet.run(*jobs_with_leader.pods(kind))
    job.becomes("Running")
    kubelet.restart("j-worker-0", 1)
    assert job.becomes("Failed")["message"] == BACKOFF


def _finished(kind: str, ttl: int, api: Api, kubelet: FakeKubelet, namespace: str) -> SubmittedJob:
    name = kind.lower()
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, run={"ttlSecondsAfterFinished": ttl}, name=name))
    kubelet.run(*jobs_with_leader.pods(kind, name=name))
    kubelet.succeed(jobs_with_leader.leader(kind, name))
    job.becomes("Succeeded")
    return job


def _time(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _types(status: Object) -> set[str]:
    return {entry["type"] for entry in status.get("conditions", [])}
