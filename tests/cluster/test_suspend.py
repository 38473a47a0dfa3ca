"""Suspending and resuming jobs, and jobs that another controller manages."""

from __future__ import annotations

import pytest
from tests.cluster import jobs_with_leader
from tests.cluster.api import Api, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet, now
from tests.cluster.submitted_job import SubmittedJob

pytestmark = pytest.mark.usefixtures("operator")


@pytest.mark.checklist(171)
@jobs_with_leader.every_kind
def test_a_job_created_suspended_waits_without_a_pod(kind: str, api: Api, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, run={"suspend": True}))
    suspended = job.becomes("Suspended")
    assert (suspended["reason"], suspended["message"]) == (f"{kind}Suspended", f"{kind} j is suspended.")
    consistently(lambda: not job.pods() and not job.services(), 0.5)
    assert list(job.states().items()) == [("Created", "True"), ("Suspended", "True")]
    assert "startTime" not in job.status


@pytest.mark.checklist(172)
@jobs_with_leader.every_kind
def test_suspending_a_running_job_takes_its_pods_and_services(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 2, run={"cleanPodPolicy": "None"}))
    kubelet.run(*jobs_with_leader.pods(kind, 2))
    job.becomes("Running")

    job.suspend()

    suspended = job.becomes("Suspended")
    assert (suspended["reason"], suspended["message"]) == (f"{kind}Suspended", f"{kind} j is suspended.")
    running = job.condition("Running")
    assert (running["status"], running["reason"], running["message"]) == ("False", f"{kind}Suspended", f"{kind} j is suspended.")
    jobs_with_leader.finish_deletions(job, kubelet)
    eventually(lambda: not job.services())
    consistently(lambda: not job.pods() and not job.services(), 0.5)
    assert job.status["replicaStatuses"]
    assert all(not counts.get("active") for counts in job.status["replicaStatuses"].values())
    assert list(job.states().items()) == [("Created", "True"), ("Running", "False"), ("Suspended", "True")]


@pytest.mark.checklist(173)
@jobs_with_leader.every_kind
def test_resuming_starts_the_job_again(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 1))
    kubelet.run(*jobs_with_leader.pods(kind))
    job.becomes("Running")
    before, pods = job.status["startTime"], {pod["metadata"]["uid"] for pod in job.pods().values()}
    job.suspend()
    jobs_with_leader.finish_deletions(job, kubelet)
    eventually(lambda: now() > before)  # stored times are whole seconds

    job.suspend(False)

    eventually(lambda: job.states()["Suspended"] == "False")
    resumed = job.condition("Suspended")
    assert (resumed["reason"], resumed["message"]) == (f"{kind}Resumed", f"{kind} j is resumed.")
    assert job.status["startTime"] > before
    kubelet.run(*jobs_with_leader.pods(kind))
    job.becomes("Running")
    assert not pods & {pod["metadata"]["uid"] for pod in job.pods().values()}
    eventually(lambda: job.services() == jobs_with_leader.services(kind, jobs_with_leader.pods(kind)))
    assert list(job.states().items()) == [("Created", "True"), ("Suspended", "False"), ("Running", "True")]
    assert job.status.get("restarts", {}).get("disruptions", 0) == 0, "a suspension is no disruption"


@pytest.mark.checklist(173)
def test_suspending_and_resuming_are_reported(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job("PyTorchJob", run={"suspend": True}))
    job.becomes("Suspended")
    job.suspend(False)
    kubelet.run(*jobs_with_leader.pods("PyTorchJob"))
    job.becomes("Running")
    assert job.event("PyTorchJobSuspended")["type"] == "Normal"
    assert job.event("PyTorchJobResumed")["type"] == "Normal"
    assert len(job.events("PyTorchJobSuspended")) == 1
    assert len(job.events("PyTorchJobResumed")) == 1


@pytest.mark.checklist(174)
@jobs_with_leader.every_kind
def test_suspending_a_finished_job_changes_nothing(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 1, run={"cleanPodPolicy": "None"}))
    names = jobs_with_leader.pods(kind)
    kubelet.run(*names)
    kubelet.succeed(jobs_with_leader.leader(kind))
    job.becomes("Succeeded")
    before = job.status

    job.suspend()

    consistently(lambda: set(job.pods()) == set(names) and job.services() == jobs_with_leader.services(kind, names), 0.5)
    assert {**job.status, "why": None} == {**before, "why": None}
    assert not any(pod["metadata"].get("deletionTimestamp") for pod in job.pods().values())


@pytest.mark.checklist(175)
def test_jobs_that_another_controller_manages_are_left_alone(api: Api, namespace: str) -> None:
    run = {"managedBy": "kueue.x-k8s.io/multikueue", "suspend": True}
    jobs = [
        SubmittedJob(api, namespace, jobs_with_leader.job(kind, run=run, name=kind.lower())) for kind in jobs_with_leader.EVERY
    ]

    def untouched() -> bool:
        plurals = ("pods", "services", "configmaps", "roles")
        made = {name for plural in plurals for name in api.names(plural, namespace)} - {"kube-root-ca.crt"}
        return not made and not any(job.status for job in jobs)

    consistently(untouched, 0.5)
    for job in jobs:
        job.suspend(False)
    consistently(untouched, 0.5)


@pytest.mark.checklist(175)
@jobs_with_leader.every_kind
def test_jobs_that_this_operator_manages_are_run(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, run={"managedBy": "kubeflow.org/training-operator"}))
    kubelet.run(*jobs_with_leader.pods(kind))
    job.becomes("Running")
