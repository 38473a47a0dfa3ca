"""TFJob: how the state of the job follows from its pods."""

from __future__ import annotations

import pytest
from tests.cluster.api import consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import Submit
from tests.cluster.tfjobs import dynamic, one, tfjob


def uid(kubelet: FakeKubelet, name: str) -> str:
    return str(kubelet.pod(name)["metadata"]["uid"])


@pytest.mark.checklist(67)
def test_the_first_workers_success_is_the_jobs(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob(Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    job.becomes("Running")

    kubelet.succeed("j-worker-0")

    job.becomes("Succeeded")


@pytest.mark.checklist(67)
def test_another_workers_success_is_not(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob(Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    kubelet.succeed("j-worker-1")
    eventually(lambda: job.counts("Worker") == {"active": 1, "succeeded": 1, "failed": 0})

    consistently(lambda: job.states() == {"Created": "True", "Running": "True"}, 0.3)


@pytest.mark.checklist(68)
def test_under_all_workers_every_one_must_succeed(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob(spec={"successPolicy": "AllWorkers"}, Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    kubelet.succeed("j-worker-0")
    eventually(lambda: job.counts("Worker") == {"active": 1, "succeeded": 1, "failed": 0})
    consistently(lambda: job.states() == {"Created": "True", "Running": "True"}, 0.3)

    kubelet.succeed("j-worker-1")

    job.becomes("Succeeded")


@pytest.mark.parametrize("role", ["Chief", "Master"])
@pytest.mark.checklist(69)
def test_the_chiefs_success_is_the_jobs(submit: Submit, kubelet: FakeKubelet, role: str) -> None:
    job = submit(tfjob(Worker=2, **one(role)))
    kubelet.run(f"j-{role.lower()}-0", "j-worker-0", "j-worker-1")
    job.becomes("Running")

    kubelet.succeed(f"j-{role.lower()}-0")

    job.becomes("Succeeded")


@pytest.mark.checklist(69)
def test_with_a_chief_the_workers_success_does_not_count(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob(Chief=1, Worker=2))
    kubelet.run("j-chief-0", "j-worker-0", "j-worker-1")
    kubelet.succeed("j-worker-0", "j-worker-1")
    eventually(lambda: job.counts("Worker")["succeeded"] == 2)

    consistently(lambda: job.states() == {"Created": "True", "Running": "True"}, 0.3)


@pytest.mark.checklist(70)
def test_the_job_runs_when_the_chief_does(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob(Chief=1, Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    eventually(lambda: job.counts("Worker")["active"] == 2)
    consistently(lambda: job.states() == {"Created": "True"}, 0.3)

    kubelet.run("j-chief-0")

    job.becomes("Running")


@pytest.mark.checklist(71)
def test_a_failed_worker_that_is_never_restarted_fails_the_job(submit: Submit, kubelet: FakeKubelet, namespace: str) -> None:
    job = submit(tfjob("Never", Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")

    kubelet.fail("j-worker-1")

    found = job.becomes("Failed")
    assert found["reason"] == "TFJobFailed"
    assert found["message"] == f"TFJob {namespace}/j has failed because 1 Worker replica(s) failed."
    assert "completionTime" in job.status


@pytest.mark.parametrize("role", ["PS", "Worker", "Evaluator"])
@pytest.mark.checklist(72)
def test_a_failed_helper_fails_the_job_while_the_chief_runs(
    submit: Submit, kubelet: FakeKubelet, namespace: str, role: str
) -> None:
    job = submit(tfjob("Never", Chief=1, PS=1, Worker=1, Evaluator=1))
    kubelet.run("j-chief-0", "j-ps-0", "j-worker-0", "j-evaluator-0")
    job.becomes("Running")

    kubelet.fail(f"j-{role.lower()}-0")

    assert job.becomes("Failed")["message"] == f"TFJob {namespace}/j has failed because 1 {role} replica(s) failed."
    assert job.counts("Chief")["active"] == 1


@pytest.mark.checklist(73)
def test_a_failed_dynamic_worker_leaves_the_job_alone(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(dynamic(PS=1, Worker=2))
    kubelet.run("j-ps-0", "j-worker-0", "j-worker-1")
    job.becomes("Running")

    kubelet.fail("j-worker-1")

    eventually(lambda: job.counts("Worker") == {"active": 1, "succeeded": 0, "failed": 1})
    consistently(lambda: job.states() == {"Created": "True", "Running": "True"}, 0.3)
    kubelet.fail("j-ps-0")
    job.becomes("Failed")


@pytest.mark.checklist(74)
def test_exit_codes_from_128_on_restart_a_worker(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob("ExitCode", Worker=1))
    kubelet.run("j-worker-0")
    job.becomes("Running")
    before = uid(kubelet, "j-worker-0")

    kubelet.fail("j-worker-0", code=137)

    assert job.becomes("Restarting")["reason"] == "TFJobRestarting"
    assert job.condition("Restarting")["message"] == "job j is restarting because Worker replica(s) failed."
    assert job.states() == {"Created": "True", "Restarting": "True"}
    eventually(lambda: uid(kubelet, "j-worker-0") != before)
    kubelet.run("j-worker-0")
    eventually(lambda: job.states() == {"Created": "True", "Running": "True"})


@pytest.mark.parametrize("code", [1, 127])
@pytest.mark.checklist(75)
def test_lower_exit_codes_fail_the_job_and_the_pod_stays(submit: Submit, kubelet: FakeKubelet, code: int) -> None:
    job = submit(tfjob("ExitCode", run={"cleanPodPolicy": "None"}, Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    before = uid(kubelet, "j-worker-1")

    kubelet.fail("j-worker-1", code=code)

    assert job.becomes("Failed")["message"] == 'job "j" is failing because "Worker" replica(s) failed.'
    consistently(lambda: uid(kubelet, "j-worker-1") == before, 0.3)
    assert kubelet.pod("j-worker-1")["status"]["phase"] == "Failed"


@pytest.mark.checklist(76)
def test_a_pod_that_left_no_exit_code_is_restarted(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob("ExitCode", Worker=2))
    kubelet.run("j-worker-0", "j-worker-1")
    before = uid(kubelet, "j-worker-1")

    kubelet.fail_without_status("j-worker-1")

    eventually(lambda: uid(kubelet, "j-worker-1") != before)
    assert not job.is_true("Failed")


@pytest.mark.checklist(77)
def test_the_conditions_of_a_success_are_in_the_order_that_clients_know(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob(Chief=1, Worker=1))
    kubelet.run("j-chief-0", "j-worker-0")
    job.becomes("Running")

    kubelet.succeed("j-chief-0")

    job.becomes("Succeeded")
    assert [(entry["type"], entry["reason"], entry["status"]) for entry in job.conditions] == [
        ("Created", "TFJobCreated", "True"),
        ("Running", "TFJobRunning", "False"),
        ("Succeeded", "TFJobSucceeded", "True"),
    ]
    assert job.status["completionTime"] == job.condition("Succeeded")["lastTransitionTime"]


@pytest.mark.checklist(78)
def test_the_messages_of_the_conditions_are_as_ever(submit: Submit, kubelet: FakeKubelet, namespace: str) -> None:
    job = submit(tfjob(Worker=1))
    kubelet.run("j-worker-0")
    job.becomes("Running")
    kubelet.succeed("j-worker-0")
    job.becomes("Succeeded")

    assert {entry["type"]: entry["message"] for entry in job.conditions} == {
        "Created": "TFJob j is created.",
        "Running": f"TFJob {namespace}/j is running.",
        "Succeeded": f"TFJob {namespace}/j successfully completed.",
    }


@pytest.mark.checklist(79)
def test_after_the_end_pods_that_end_by_themselves_are_counted(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob(Worker=3))
    kubelet.run("j-worker-0", "j-worker-1", "j-worker-2")

    kubelet.succeed("j-worker-0")

    job.becomes("Succeeded")
    assert job.counts("Worker") == {"active": 2, "succeeded": 1, "failed": 0}
    kubelet.succeed("j-worker-1")
    eventually(lambda: job.counts("Worker") == {"active": 1, "succeeded": 2, "failed": 0})
    kubelet.fail("j-worker-2")
    eventually(lambda: job.counts("Worker") == {"active": 0, "succeeded": 2, "failed": 1})
    assert "active" not in job.status["replicaStatuses"]["Worker"]


@pytest.mark.checklist(80)
def test_by_default_all_pods_stay_after_success(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(tfjob(Chief=1, PS=1, Worker=2))
    kubelet.run("j-chief-0", "j-ps-0", "j-worker-0", "j-worker-1")
    kubelet.succeed("j-chief-0")
    job.becomes("Succeeded")

    consistently(
        lambda: all("deletionTimestamp" not in pod["metadata"] for pod in job.pods().values()) and len(job.pods()) == 4, 0.5
    )

    assert len(job.services()) == 4
