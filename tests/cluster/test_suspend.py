"""Suspending and resuming jobs, and jobs that somebody else manages."""

from __future__ import annotations

import pytest
from tests.cluster import led
from tests.cluster.api import Api, eventually, steadily
from tests.cluster.kubelet import Kubelet, now
from tests.cluster.submitted import Submitted

pytestmark = pytest.mark.usefixtures("operator")


@pytest.mark.contract(171)
@led.every_kind
def test_a_job_created_suspended_waits_without_a_pod(kind: str, api: Api, namespace: str) -> None:
    job = Submitted(api, namespace, led.job(kind, run={"suspend": True}))
    suspended = job.becomes("Suspended")
    assert (suspended["reason"], suspended["message"]) == (f"{kind}Suspended", f"{kind} j is suspended.")
    steadily(lambda: not job.pods() and not job.services(), 0.5)
    assert list(job.states().items()) == [("Created", "True"), ("Suspended", "True")]
    assert "startTime" not in job.status


@pytest.mark.contract(172)
@led.every_kind
def test_suspending_a_running_job_takes_its_pods_and_services(kind: str, api: Api, kubelet: Kubelet, namespace: str) -> None:
    job = Submitted(api, namespace, led.job(kind, 2, run={"cleanPodPolicy": "None"}))
    kubelet.run(*led.pods(kind, 2))
    job.becomes("Running")

    job.suspend()

    suspended = job.becomes("Suspended")
    assert (suspended["reason"], suspended["message"]) == (f"{kind}Suspended", f"{kind} j is suspended.")
    running = job.condition("Running")
    assert (running["status"], running["reason"], running["message"]) == ("False", f"{kind}Suspended", f"{kind} j is suspended.")
    led.let_go(job, kubelet)
    eventually(lambda: not job.services())
    steadily(lambda: not job.pods() and not job.services(), 0.5)
    assert all(not counts.get("active") for counts in job.status["replicaStatuses"].values())
    assert list(job.states().items()) == [("Created", "True"), ("Running", "False"), ("Suspended", "True")]


@pytest.mark.contract(173)
@led.every_kind
def test_resuming_starts_the_job_anew(kind: str, api: Api, kubelet: Kubelet, namespace: str) -> None:
    job = Submitted(api, namespace, led.job(kind, 1))
    kubelet.run(*led.pods(kind))
    job.becomes("Running")
    before, pods = job.status["startTime"], {pod["metadata"]["uid"] for pod in job.pods().values()}
    job.suspend()
    led.let_go(job, kubelet)
    eventually(lambda: now() > before)  # stored times are whole seconds

    job.suspend(False)

    eventually(lambda: job.states()["Suspended"] == "False")
    resumed = job.condition("Suspended")
    assert (resumed["reason"], resumed["message"]) == (f"{kind}Resumed", f"{kind} j is resumed.")
    assert job.status["startTime"] > before
    kubelet.run(*led.pods(kind))
    job.becomes("Running")
    assert not pods & {pod["metadata"]["uid"] for pod in job.pods().values()}
    eventually(lambda: job.services() == led.services(kind, led.pods(kind)))
    assert list(job.states().items()) == [("Created", "True"), ("Suspended", "False"), ("Running", "True")]
    assert job.status.get("restarts", {}).get("disruptions", 0) == 0, "a suspension is no disruption"


@pytest.mark.contract(173)
def test_suspending_and_resuming_are_told(api: Api, kubelet: Kubelet, namespace: str) -> None:
    job = Submitted(api, namespace, led.job("PyTorchJob", run={"suspend": True}))
    job.becomes("Suspended")
    job.suspend(False)
    kubelet.run(*led.pods("PyTorchJob"))
    job.becomes("Running")
    assert job.event("PyTorchJobSuspended")["type"] == "Normal"
    assert job.event("PyTorchJobResumed")["type"] == "Normal"
    assert len(job.events("PyTorchJobSuspended")) == 1
    assert len(job.events("PyTorchJobResumed")) == 1


@pytest.mark.contract(174)
@led.every_kind
def test_suspending_a_finished_job_changes_nothing(kind: str, api: Api, kubelet: Kubelet, namespace: str) -> None:
    job = Submitted(api, namespace, led.job(kind, 1, run={"cleanPodPolicy": "None"}))
    names = led.pods(kind)
    kubelet.run(*names)
    kubelet.succeed(led.leader(kind))
    job.becomes("Succeeded")
    before = job.status

    job.suspend()

    steadily(lambda: set(job.pods()) == set(names) and job.services() == led.services(kind, names), 0.5)
    assert {**job.status, "why": None} == {**before, "why": None}
    assert not any(pod["metadata"].get("deletionTimestamp") for pod in job.pods().values())


@pytest.mark.contract(175)
def test_jobs_that_another_controller_manages_are_left_alone(api: Api, namespace: str) -> None:
    run = {"managedBy": "kueue.x-k8s.io/multikueue", "suspend": True}
    jobs = [Submitted(api, namespace, led.job(kind, run=run, name=kind.lower())) for kind in led.EVERY]

    def untouched() -> bool:
        plurals = ("pods", "services", "configmaps", "roles")
        made = {name for plural in plurals for name in api.names(plural, namespace)} - {"kube-root-ca.crt"}
        return not made and not any(job.status for job in jobs)

    steadily(untouched, 0.5)
    for job in jobs:
        job.suspend(False)
    steadily(untouched, 0.5)


@pytest.mark.contract(175)
@led.every_kind
def test_jobs_that_this_operator_manages_are_run(kind: str, api: Api, kubelet: Kubelet, namespace: str) -> None:
    job = Submitted(api, namespace, led.job(kind, run={"managedBy": "kubeflow.org/training-operator"}))
    kubelet.run(*led.pods(kind))
    job.becomes("Running")
