"""The status of a job: conditions, counts, times, and the events at the end."""

from __future__ import annotations

import pytest
from tests.cluster import jobs_with_leader, manifests
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet, now
from tests.cluster.submitted_job import SubmittedJob

pytestmark = pytest.mark.usefixtures("operator")


@pytest.mark.checklist(176)
@jobs_with_leader.every_kind
def test_conditions_that_stay_true_keep_their_times_and_messages(
    kind: str, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 2))
    kubelet.run(*jobs_with_leader.pods(kind, 2))
    job.becomes("Running")
    before = job.conditions
    eventually(lambda: now() > before[-1]["lastUpdateTime"])  # stored times are whole seconds

    kubelet.succeed("j-worker-1")

    eventually(lambda: job.counts("Worker")["succeeded"] == 1)
    assert job.conditions == before


@pytest.mark.checklist(176)
def test_the_first_cause_of_a_restart_stays_the_one_that_is_reported(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    chief, ps = manifests.replicas("TFJob", 1, "ExitCode"), manifests.replicas("TFJob", 1, "ExitCode")
    job = SubmittedJob(api, namespace, manifests.job("TFJob", Chief=chief, PS=ps))
    kubelet.run("j-chief-0", "j-ps-0")
    job.becomes("Running")
    kubelet.fail("j-chief-0", code=137)
    restarting = job.becomes("Restarting")
    eventually(lambda: now() > restarting["lastUpdateTime"])
    before = job.pods()["j-ps-0"]["metadata"]["uid"]

    kubelet.fail("j-ps-0", code=137)

    eventually(lambda: kubelet.pod("j-ps-0")["metadata"]["uid"] != before)
    assert job.condition("Restarting") == restarting
    assert restarting["message"] == "job j is restarting because Chief replica(s) failed."


@pytest.mark.checklist(177)
@jobs_with_leader.every_kind
def test_a_job_never_runs_and_restarts_at_once_nor_runs_after_success(
    kind: str, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 1, "ExitCode"))
    _restarted(kind, job, kubelet)

    kubelet.succeed(jobs_with_leader.leader(kind))

    job.becomes("Succeeded")
    assert list(job.states().items()) == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")]
    seen = [frozenset(_true(status)) for status in job.history()]
    assert {"Running", "Restarting", "Succeeded"} < frozenset.union(*seen)
    assert not any({"Running", "Restarting"} <= entry for entry in seen)
    assert not any(entry & {"Succeeded", "Failed"} and entry & {"Running", "Restarting"} for entry in seen)


@pytest.mark.checklist(177)
@jobs_with_leader.every_kind
def test_a_job_does_not_run_after_failure(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 1, "Never"))
    kubelet.run(*jobs_with_leader.pods(kind))
    job.becomes("Running")
    kubelet.fail("j-worker-0")
    job.becomes("Failed")
    assert list(job.states().items()) == [("Created", "True"), ("Running", "False"), ("Failed", "True")]
    assert job.condition("Running")["reason"] == f"{kind}Running"


@pytest.mark.checklist(178)
@jobs_with_leader.every_kind
def test_a_failed_job_stays_as_it_failed(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 2, "Never", run={"cleanPodPolicy": "None"}))
    names = jobs_with_leader.pods(kind, 2)
    kubelet.run(*names)
    job.becomes("Running")
    kubelet.fail("j-worker-1")
    failed = job.becomes("Failed")
    before = job.conditions
    eventually(lambda: now() > failed["lastUpdateTime"])

    kubelet.succeed(jobs_with_leader.leader(kind), "j-worker-0")
    api.delete("pods", namespace, "j-worker-1", grace=0)
    job.patch({"runPolicy": {"suspend": True, "backoffLimit": 0}})
    eventually(lambda: job.counts("Worker")["active"] == 0)

    consistently(lambda: job.conditions == before, 0.5)
    assert "j-worker-1" not in job.pods()


@pytest.mark.checklist(179)
@jobs_with_leader.every_kind
def test_pods_that_are_pending_are_counted_nowhere(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    nothing = {"active": 0, "succeeded": 0, "failed": 0}
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 2))
    for name in jobs_with_leader.pods(kind, 2):
        kubelet.bind(name)
    kubelet.unschedulable("j-worker-1", "0/3 nodes are available: 3 Insufficient cpu.")
    eventually(lambda: job.why.get("reason") == "Unschedulable")
    roles = job.status["replicaStatuses"]
    assert "Worker" in roles
    assert all(job.counts(role) == nothing for role in roles)

    kubelet.run("j-worker-0")

    eventually(lambda: job.counts("Worker") == {**nothing, "active": 1})


@pytest.mark.checklist(180)
@jobs_with_leader.every_kind
def test_a_job_starts_when_it_is_first_looked_at_and_no_write_is_dated(
    kind: str, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    job = SubmittedJob(api, namespace, jobs_with_leader.job(kind, 1, "ExitCode"))
    born = job.read()["metadata"]["creationTimestamp"]
    started = eventually(lambda: job.status.get("startTime"))
    assert started >= born
    _restarted(kind, job, kubelet)
    kubelet.succeed(jobs_with_leader.leader(kind))
    job.becomes("Succeeded")
    history = job.history()
    assert {status["startTime"] for status in history if status} == {started}
    assert not any("lastReconcileTime" in status for status in history)


@pytest.mark.checklist(181)
@jobs_with_leader.every_kind
def test_the_end_of_a_job_is_reported_by_one_event(kind: str, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    good = SubmittedJob(api, namespace, jobs_with_leader.job(kind, name="good"))
    bad = SubmittedJob(api, namespace, jobs_with_leader.job(kind, policy="Never", name="bad"))
    for name in ("good", "bad"):
        kubelet.run(*jobs_with_leader.pods(kind, name=name))
    kubelet.succeed(jobs_with_leader.leader(kind, "good"))
    kubelet.fail("bad-worker-0")

    succeeded, failed = good.event(f"{kind}Succeeded"), bad.event(f"{kind}Failed")

    assert (succeeded["type"], succeeded["message"]) == ("Normal", good.becomes("Succeeded")["message"])
    assert failed["message"] == bad.becomes("Failed")["message"]
    assert (len(good.events(f"{kind}Succeeded")), len(bad.events(f"{kind}Failed"))) == (1, 1)
    assert good.events(f"{kind}Failed") == bad.events(f"{kind}Succeeded") == []


def _restarted(kind: str, job: SubmittedJob, kubelet: FakeKubelet) -> None:
    """Runs the job, loses a worker to a signal, and runs it again."""
    kubelet.run(*jobs_with_leader.pods(kind))
    job.becomes("Running")
    before = job.pods()["j-worker-0"]["metadata"]["uid"]
    kubelet.fail("j-worker-0", code=137)
    job.passes_through("Restarting")
    eventually(lambda: kubelet.pod("j-worker-0")["metadata"]["uid"] != before)
    kubelet.run("j-worker-0")
    job.becomes("Running")


def _true(status: Object) -> list[str]:
    return [entry["type"] for entry in status.get("conditions", []) if entry["status"] == "True"]
