"""MPIJob v1: conditions and clean-up."""

from __future__ import annotations

import pytest
from tests.cluster import mpi
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import Submit, SubmittedJob

KEPT = (("configmaps", "j-config"), ("roles", "j-launcher"), ("rolebindings", "j-launcher"), ("serviceaccounts", "j-launcher"))


def live(job: SubmittedJob) -> set[str]:
    """Pods that nobody has asked to go."""
    return {name for name, pod in job.pods().items() if not pod["metadata"].get("deletionTimestamp")}


def finished(submit: Submit, kubelet: FakeKubelet, run: Object | None = None, legacy: str | None = None) -> SubmittedJob:
    """A job that has succeeded while a worker ran and another was pending."""
    job = submit(mpi.job(2, run, **({"cleanPodPolicy": legacy} if legacy else {})))
    kubelet.run("j-launcher", "j-worker-0")
    kubelet.succeed("j-launcher")
    job.becomes("Succeeded")
    return job


@pytest.mark.checklist(130)
def test_the_job_runs_when_its_launcher_does_even_while_workers_are_pending(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(mpi.job(2))
    kubelet.run("j-worker-0")
    eventually(lambda: job.counts("Worker")["active"] == 1)
    consistently(lambda: job.states() == {"Created": "True"}, 0.5)  # workers alone do not make it run
    kubelet.run("j-launcher")
    found = job.becomes("Running")
    assert (found["reason"], found["message"]) == ("MPIJobRunning", "MPIJob j is running.")
    assert job.counts("Worker") == {"active": 1, "succeeded": 0, "failed": 0}
    job.event("MPIJobRunning")


@pytest.mark.checklist(131)
def test_the_launchers_success_is_the_jobs(submit: Submit, kubelet: FakeKubelet) -> None:
    job = finished(submit, kubelet)
    found = job.condition("Succeeded")
    assert (found["reason"], found["message"]) == ("MPIJobSucceeded", "MPIJob j is successfully completed.")
    assert job.states() == {"Created": "True", "Running": "False", "Succeeded": "True"}
    assert job.status["completionTime"]
    assert job.counts("Launcher") == {"active": 0, "succeeded": 1, "failed": 0}
    job.event("MPIJobSucceeded")


@pytest.mark.checklist(132)
def test_a_failed_launcher_fails_the_job_with_a_reason_spelt_once(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(mpi.job(1))
    kubelet.run("j-launcher", "j-worker-0")
    kubelet.fail("j-launcher", code=1, message="ORTE was unable to reliably start one or more daemons.")
    found = job.becomes("Failed")
    assert found["reason"] == "MPIJobFailed"
    assert found["message"] == "MPIJob j is failed because 1 Launcher replica(s) failed."
    assert job.status["completionTime"]
    assert (job.status["failure"]["replica"], job.status["failure"]["exitCode"]) == ("Launcher", 1)
    assert "ORTE" in job.status["failure"]["message"]


@pytest.mark.checklist(133)
def test_a_failed_worker_fails_the_job_while_the_launcher_runs(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(mpi.job(2))
    kubelet.run("j-launcher", "j-worker-0", "j-worker-1")
    job.becomes("Running")
    kubelet.fail("j-worker-1", code=1)
    found = job.becomes("Failed")
    assert (found["reason"], found["message"]) == ("MPIJobFailed", "MPIJob j is failed because 1 Worker replica(s) failed.")
    assert job.states()["Running"] == "False"


@pytest.mark.checklist(134)
def test_the_legacy_policy_running_removes_running_workers_and_keeps_the_launcher(submit: Submit, kubelet: FakeKubelet) -> None:
    job = finished(submit, kubelet, legacy="Running")
    eventually(lambda: live(job) == {"j-launcher"})
    consistently(lambda: live(job) == {"j-launcher"}, 0.5)


@pytest.mark.checklist(135)
def test_the_run_policy_wins_over_the_legacy_policy(submit: Submit, kubelet: FakeKubelet) -> None:
    job = finished(submit, kubelet, {"cleanPodPolicy": "None"}, legacy="All")
    consistently(lambda: live(job) == {"j-launcher", "j-worker-0", "j-worker-1"}, 1.0)


@pytest.mark.checklist(136)
def test_policy_all_removes_the_launcher_too_but_not_what_the_job_owns_beside_pods(
    submit: Submit, kubelet: FakeKubelet, api: Api
) -> None:
    job = finished(submit, kubelet, {"cleanPodPolicy": "All"})
    eventually(lambda: live(job) == set())
    kubelet.gone("j-worker-0")
    consistently(lambda: job.pods() == {} and all(api.find(plural, job.namespace, name) for plural, name in KEPT), 0.5)


@pytest.mark.checklist(138)
@pytest.mark.parametrize("role", ["Launcher", "Worker"])
def test_an_exit_code_of_a_signal_brings_a_new_pod(submit: Submit, kubelet: FakeKubelet, role: str) -> None:
    name = "j-launcher" if role == "Launcher" else "j-worker-0"
    job = submit(mpi.policy(mpi.job(1), role, "ExitCode"))
    kubelet.run("j-launcher", "j-worker-0")
    first = job.pods()[name]["metadata"]["uid"]
    assert job.pods()[name]["spec"]["restartPolicy"] == "Never"
    kubelet.fail(name, code=137)
    job.event("MPIJobRestarting")
    eventually(lambda: job.pods()[name]["metadata"]["uid"] != first)
    kubelet.run(name)
    eventually(lambda: job.states() == {"Created": "True", "Running": "True"})


@pytest.mark.checklist(138)
@pytest.mark.parametrize("role", ["Launcher", "Worker"])
def test_an_exit_code_of_the_program_itself_fails_the_job(submit: Submit, kubelet: FakeKubelet, role: str) -> None:
    name = "j-launcher" if role == "Launcher" else "j-worker-0"
    job = submit(mpi.policy(mpi.job(1), role, "ExitCode"))
    kubelet.run("j-launcher", "j-worker-0")
    kubelet.fail(name, code=127)
    found = job.becomes("Failed")
    assert found["reason"] == "MPIJobFailed"
    assert found["message"] == f'job "j" is failing because "{role}" replica(s) failed.'
    assert job.status["completionTime"]
    assert job.pods()[name]["status"]["phase"] == "Failed"


def test_a_launcher_that_was_deleted_is_recreated(submit: Submit, kubelet: FakeKubelet, api: Api) -> None:
    job = submit(mpi.job(1))
    kubelet.run("j-launcher", "j-worker-0")
    job.becomes("Running")
    first = {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}
    api.delete("pods", job.namespace, "j-launcher", grace=0)
    eventually(lambda: job.pods()["j-launcher"]["metadata"]["uid"] != first["j-launcher"])
    assert job.pods()["j-worker-0"]["metadata"]["uid"] == first["j-worker-0"]
    assert not job.is_true("Failed")


def test_suspending_takes_the_pods_and_leaves_files_and_rights(submit: Submit, kubelet: FakeKubelet, api: Api) -> None:
    job = submit(mpi.job(1))
    kubelet.run("j-launcher", "j-worker-0", bind=False)
    job.becomes("Running")
    job.suspend()
    found = job.becomes("Suspended")
    assert (found["reason"], found["message"]) == ("MPIJobSuspended", "MPIJob j is suspended.")
    eventually(lambda: job.pods() == {})
    assert all(api.find(plural, job.namespace, name) for plural, name in KEPT)
    job.suspend(False)
    kubelet.run("j-launcher", "j-worker-0")
    job.becomes("Running")
