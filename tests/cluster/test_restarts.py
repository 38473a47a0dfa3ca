"""Lost pods: the cause decides first, then the restart policy; each loss is recorded once; the first failure is kept."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster import jobs_with_services, manifests, pod_losses
from tests.cluster.api import Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.pod_losses import CAUSES, PodLoss
from tests.cluster.submitted_job import Submit, SubmittedJob

KINDS = ("TFJob", "PyTorchJob", "XGBoostJob")
POLICIES = ("Never", "OnFailure", "Always", "ExitCode")
PROGRAM_ERROR = "ValueError: the learning rate must be positive"
"""The output of a failure with a cause of its own: it never belongs to the loss of another replica."""


def started(job: SubmittedJob, kubelet: FakeKubelet, count: int) -> dict[str, str]:
    eventually(lambda: len(job.pods()) == count)
    kubelet.run(*job.pods())
    job.becomes("Running")
    return job.uids()


def replaced(job: SubmittedJob, before: dict[str, str], *names: str) -> None:
    """Waits until new pods have taken the places of these, and of these alone."""

    def new() -> set[str]:
        return {name for name, uid in job.uids().items() if uid != before.get(name)}

    eventually(lambda: job.uids().keys() == before.keys() and new() == set(names), because=f"not replaced: {names}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_the_cause_decides_first_then_the_policy(submit: Submit, kubelet: FakeKubelet, kind: str, cause: PodLoss) -> None:
    jobs = {policy: submit(jobs_with_services.workers(kind, 2, policy, name=policy.lower())) for policy in POLICIES}
    for job in jobs.values():
        kubelet.run(f"{job.name}-worker-1")
    before = {policy: job.uids() for policy, job in jobs.items()}

    for job in jobs.values():
        cause.inflict(kubelet, f"{job.name}-worker-1")

    for policy, job in jobs.items():
        _meets_its_fate(job, before[policy], cause, policy)


def _meets_its_fate(job: SubmittedJob, before: dict[str, str], cause: PodLoss, policy: str) -> None:
    if cause.ends_the_job(policy):
        job.becomes("Failed")
        assert job.uids() == before
        assert job.status["failure"]["pod"] == f"{job.name}-worker-1"
        return
    replaced(job, before, f"{job.name}-worker-1")
    assert job.restart_counts() == ((1, 0) if cause.own else (0, 1))
    assert not job.is_true("Failed")
    assert ("failure" in job.status) == cause.own


@pytest.mark.parametrize("kind", KINDS)
def test_losses_after_the_first_are_secondary(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 3, "OnFailure"))
    before = started(job, kubelet, 4 if kind == "XGBoostJob" else 3)

    kubelet.fail("j-worker-1", code=1)
    eventually(lambda: job.restart_counts() == (1, 0))
    kubelet.fail("j-worker-0", "j-worker-2", code=2)

    replaced(job, before, "j-worker-0", "j-worker-1", "j-worker-2")
    kubelet.run("j-worker-0", "j-worker-1", "j-worker-2")
    eventually(lambda: job.is_true("Running") and not job.status["restarts"].get("open"))
    assert job.restart_counts() == (1, 0)
    assert job.status["failure"]["replica"] == "Worker 1"


@pytest.mark.parametrize("kind", KINDS)
def test_a_secondary_failure_after_a_disruption_does_not_fail_the_job(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 3, "Never"))
    before = started(job, kubelet, 4 if kind == "XGBoostJob" else 3)

    kubelet.fail_without_status("j-worker-1", "Evicted", "The node was low on resource: memory. ")
    eventually(lambda: job.restart_counts() == (0, 1))
    kubelet.fail("j-worker-0", code=1)

    replaced(job, before, "j-worker-0", "j-worker-1")
    assert job.restart_counts() == (0, 1)
    assert not job.is_true("Failed")


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_attempt_is_accounted_for_separately(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 2, "Never"))
    before = started(job, kubelet, 3 if kind == "XGBoostJob" else 2)
    kubelet.fail_without_status("j-worker-1", "Evicted", "The node was low on resource: memory. ")
    replaced(job, before, "j-worker-1")
    kubelet.run("j-worker-1")
    eventually(lambda: not job.status["restarts"].get("open"))

    kubelet.fail("j-worker-1", code=1, message=PROGRAM_ERROR)

    job.becomes("Failed")
    assert job.status["failure"]["exitCode"] == 1


def test_a_restart_of_one_role_does_not_hide_the_failure_of_another(submit: Submit, kubelet: FakeKubelet) -> None:
    worker, server = manifests.replicas("TFJob", 1, "ExitCode"), manifests.replicas("TFJob", 1, "Never")
    job = submit(manifests.job("TFJob", Worker=worker, PS=server))
    before = started(job, kubelet, 2)
    kubelet.fail("j-worker-0", code=137)
    replaced(job, before, "j-worker-0")
    kubelet.run("j-worker-0")
    eventually(lambda: not job.status["restarts"].get("open"))

    kubelet.fail("j-ps-0", code=1)

    assert "1 PS replica(s) failed" in job.becomes("Failed")["message"]


@pytest.mark.parametrize("kind", KINDS)
def test_disruptions_do_not_count_against_the_limit(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    body = jobs_with_services.workers(kind, 2, "OnFailure")
    body["spec"]["runPolicy"] = {"backoffLimit": 0}
    job = submit(body)
    before = started(job, kubelet, 3 if kind == "XGBoostJob" else 2)

    pod_losses.deleted(kubelet, "j-worker-1")
    replaced(job, before, "j-worker-1")
    kubelet.run("j-worker-1")
    # As long as the others have not come back, what fails beside a disruption is taken for its consequence.
    eventually(lambda: not job.status["restarts"].get("open"))
    kubelet.fail("j-worker-0", code=1, message=PROGRAM_ERROR)

    assert job.becomes("Failed")["message"] == "Job j has failed because it has reached the specified backoff limit"
    assert job.restart_counts() == (0, 1)


def test_losses_in_a_row_are_restarted_with_a_growing_delay(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(jobs_with_services.workers("PyTorchJob", 2, "Never"))
    before = started(job, kubelet, 2)
    pod_losses.drained(kubelet, "j-worker-1")
    replaced(job, before, "j-worker-1")
    kubelet.run("j-worker-1")
    job.becomes("Running")

    pod_losses.drained(kubelet, "j-worker-1")

    eventually(lambda: job.why["reason"] == "BackOff")
    event = job.event("BackOff")
    assert event["message"] == job.why["message"]
    consistently(lambda: "j-worker-1" not in job.pods())
    eventually(lambda: "j-worker-1" in job.pods())
    assert job.restart_counts() == (0, 2)
    eventually(lambda: not job.why)


LOG = "".join(f"step {number}: loss is ∞\n" for number in range(500)) + "RuntimeError: CUDA error\n"


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_failure_outlives_its_pod(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    body = jobs_with_services.workers(kind, 2, "Never")
    body["spec"]["runPolicy"] = {"cleanPodPolicy": "All"}
    job = submit(body)
    before = started(job, kubelet, 3 if kind == "XGBoostJob" else 2)

    kubelet.fail("j-worker-1", code=3, message=LOG)

    job.becomes("Failed")
    for name in before:
        if name != "j-worker-1":
            kubelet.gone(name)
    eventually(lambda: job.pods() == {})
    _is_the_record(job.status["failure"], before["j-worker-1"], kind)


def _is_the_record(found: Object, uid: str, kind: str) -> None:
    message, time = found.pop("message"), found.pop("time")
    assert LOG.endswith(message)
    assert 2000 < len(message.encode()) <= 2048
    assert time.endswith("Z")
    assert found == {
        "replica": "Worker 1", "pod": "j-worker-1", "uid": uid, "node": "node-1", "container": manifests.CONTAINERS[kind],
        "exitCode": 3, "reason": "Error", "cause": "RuntimeError: CUDA error", "advice": "Check the log of the replica.",
        "evidence": ["RuntimeError: CUDA error"],
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_failure_stays_and_the_latest_stands_beside_it(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 2, "OnFailure"))
    before = started(job, kubelet, 3 if kind == "XGBoostJob" else 2)
    kubelet.fail("j-worker-1", code=1, message="the first")
    replaced(job, before, "j-worker-1")
    kubelet.run("j-worker-1")
    eventually(lambda: not job.status["restarts"].get("open"))

    kubelet.fail("j-worker-0", code=2, message="the second")

    eventually(lambda: job.status["lastFailure"]["message"] == "the second")
    assert _gist(job.status["failure"]) == ("Worker 1", 1, "the first")
    assert _gist(job.status["lastFailure"]) == ("Worker 0", 2, "the second")
    assert job.restart_counts() == (2, 0)


def _gist(failure: Object) -> tuple[Any, ...]:
    return failure["replica"], failure["exitCode"], failure["message"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_container_restarted_inside_its_pod_leaves_a_record_too(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 2, "OnFailure"))
    before = started(job, kubelet, 3 if kind == "XGBoostJob" else 2)

    kubelet.restart("j-worker-1", 1, code=4, message="out of luck")

    eventually(lambda: _gist(job.status["failure"]) == ("Worker 1", 4, "out of luck"))
    assert job.uids() == before
    assert job.is_true("Running")


@pytest.mark.parametrize("kind", [*jobs_with_services.REPLICAS, "MPIJob"])
def test_the_last_log_lines_become_the_termination_message(submit: Submit, kubelet: FakeKubelet, kind: str) -> None:
    body = manifests.job("MPIJob", Launcher=1, Worker=1) if kind == "MPIJob" else jobs_with_services.workers(kind, 1)
    asides = [{"name": "aside", "image": "i"}, {"name": "own", "image": "i", "terminationMessagePolicy": "File"}]
    body["spec"][manifests.FIELDS[kind]]["Worker"]["template"]["spec"]["containers"] += asides

    submit(body)

    containers = kubelet.pod("j-worker-0")["spec"]["containers"]
    assert {each["name"]: each["terminationMessagePolicy"] for each in containers} == {
        manifests.CONTAINERS[kind]: "FallbackToLogsOnError",
        "aside": "FallbackToLogsOnError",
        "own": "File",
    }
