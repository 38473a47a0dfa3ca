"""MPIJob v2beta1 and its launcher, a batch Job that the real Job controller runs: start, limits, end, suspension."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import controller_manager, fake_kubelet, mpi, operators
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.submitted_job import PREFIX, SubmittedJob
from tools.kube import build, cluster

NO_REPLACEMENT_POLICY = tuple(int(part) for part in build.kube().split(".")) < (1, 29)


@pytest.fixture(scope="module", autouse=True)
def _everybody(second_kube: tuple[cluster.Cluster, Api, pathlib.Path]) -> Iterator[None]:
    kube, _, kubeconfig = second_kube
    with controller_manager.running(kube, "job"), operators.running(kubeconfig):
        yield


def launcher_pods(job: SubmittedJob) -> list[str]:
    found = job.api.all("pods", job.namespace, f"{PREFIX}job-role=launcher")
    return [pod["metadata"]["name"] for pod in found if not pod["metadata"].get("deletionTimestamp")]


def launcher_pod(job: SubmittedJob) -> str:
    """The pod that the Job controller has made, waited for."""
    found: list[str] = eventually(lambda: launcher_pods(job), because="the Job controller made no launcher pod")
    return found[0]


def workers(job: SubmittedJob) -> dict[str, str]:
    """Worker pods and their UIDs."""
    found = job.api.all("pods", job.namespace, f"{PREFIX}job-role=worker")
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in found}


def replica_statuses(job: SubmittedJob) -> Object:
    found: Object = job.status["replicaStatuses"]
    return found


def running(isolated: IsolatedNamespace, body: Object) -> SubmittedJob:
    """A job whose launcher and only worker run; pods that are on no node go at once when they are deleted."""
    job = isolated.submit(body)
    isolated.kubelet.run("j-worker-0", launcher_pod(job), bind=False)
    job.becomes("Running")
    return job


@pytest.mark.checklist(147)
def test_the_run_policys_limits_are_the_batch_jobs(isolated: IsolatedNamespace) -> None:
    limits = {"backoffLimit": 3, "activeDeadlineSeconds": 600, "ttlSecondsAfterFinished": 60}
    found = mpi.launcher_job(isolated.submit(mpi.job(1, limits, "v2beta1")))["spec"]
    assert {name: found[name] for name in limits} == limits
    assert found["suspend"] is False
    assert found["template"]["spec"]["restartPolicy"] == "OnFailure"


@pytest.mark.checklist(147)
@pytest.mark.skipif(NO_REPLACEMENT_POLICY, reason="the field came with Kubernetes 1.29")
def test_a_launcher_pod_is_replaced_only_once_it_has_failed(isolated: IsolatedNamespace) -> None:
    found = mpi.launcher_job(isolated.submit(mpi.job(1, version="v2beta1")))["spec"]
    assert found["podReplacementPolicy"] == "Failed"


@pytest.mark.checklist(147)
def test_without_limits_the_batch_job_has_kubernetes_own(isolated: IsolatedNamespace) -> None:
    found = mpi.launcher_job(isolated.submit(mpi.job(1, version="v2beta1")))["spec"]
    assert found["backoffLimit"] == 6
    assert "activeDeadlineSeconds" not in found
    assert "ttlSecondsAfterFinished" not in found


@pytest.mark.checklist(147, 150)
def test_a_deadline_ends_the_job_in_the_words_of_the_job_controller(isolated: IsolatedNamespace) -> None:
    job = running(isolated, mpi.job(1, {"activeDeadlineSeconds": 2}, "v2beta1"))
    found = job.becomes("Failed")
    assert (found["reason"], found["message"]) == ("DeadlineExceeded", "Job was active longer than specified deadline")
    assert job.status["completionTime"]


def test_a_deadline_that_is_set_while_the_job_runs_ends_it(isolated: IsolatedNamespace) -> None:
    job = running(isolated, mpi.job(1, {"backoffLimit": 3}, "v2beta1"))
    job.patch({"runPolicy": {"activeDeadlineSeconds": 3600, "backoffLimit": None}})
    eventually(lambda: mpi.launcher_job(job)["spec"].get("activeDeadlineSeconds") == 3600)
    assert mpi.launcher_job(job)["spec"]["backoffLimit"] == 6
    job.patch({"runPolicy": {"activeDeadlineSeconds": 1}})
    assert job.becomes("Failed")["reason"] == "DeadlineExceeded"


@pytest.mark.checklist(148)
def test_a_launcher_that_waits_for_ready_workers_is_not_created_before(isolated: IsolatedNamespace) -> None:
    job = isolated.submit(mpi.job(2, version="v2beta1", launcherCreationPolicy="WaitForWorkersReady"))
    isolated.kubelet.run("j-worker-0")
    isolated.kubelet.run("j-worker-1", ready=False)
    eventually(lambda: job.counts("Worker")["active"] == 2)
    consistently(lambda: isolated.api.find("jobs", isolated.namespace, "j-launcher") is None)
    assert replica_statuses(job) == {"Worker": {"active": 2}}
    isolated.kubelet.run("j-worker-1")
    mpi.launcher_job(job)
    eventually(lambda: replica_statuses(job) == {"Launcher": {}, "Worker": {"active": 2}})


@pytest.mark.checklist(148)
def test_a_launcher_at_startup_does_not_wait(isolated: IsolatedNamespace) -> None:
    job = isolated.submit(mpi.job(2, version="v2beta1", launcherCreationPolicy="AtStartup"))
    launcher_pod(job)
    assert not any(isolated.kubelet.pod(name)["spec"].get("nodeName") for name in ("j-worker-0", "j-worker-1"))


@pytest.mark.checklist(149)
def test_the_job_runs_only_when_launcher_and_all_workers_do(isolated: IsolatedNamespace) -> None:
    job = isolated.submit(mpi.job(2, version="v2beta1"))
    isolated.kubelet.run(launcher_pod(job), "j-worker-0")
    eventually(lambda: job.counts("Launcher")["active"] == 1 and job.counts("Worker")["active"] == 1)
    consistently(lambda: job.states() == {"Created": "True"}, 0.5)
    isolated.kubelet.run("j-worker-1")
    found = job.becomes("Running")
    assert (found["reason"], found["message"]) == ("MPIJobRunning", f"MPIJob {isolated.namespace}/j is running.")
    assert job.condition("Created")["message"] == f"MPIJob {isolated.namespace}/j is created."
    eventually(lambda: replica_statuses(job) == {"Launcher": {"active": 1}, "Worker": {"active": 2}})


@pytest.mark.checklist(149)
def test_the_event_of_a_running_job_is_written_also_if_its_launcher_has_failed_by_then(isolated: IsolatedNamespace) -> None:
    job = isolated.submit(mpi.job(1, version="v2beta1"))
    isolated.kubelet.run("j-worker-0")
    launcher = launcher_pod(job)
    eventually(lambda: replica_statuses(job) == {"Launcher": {}, "Worker": {"active": 1}})
    isolated.kubelet.bind(launcher)
    isolated.kubelet.fail(launcher)  # no informer has seen the pod running
    event = job.event("MPIJobRunning")
    assert (event["type"], event["message"]) == ("Normal", f"MPIJob {isolated.namespace}/j is running.")
    eventually(lambda: replica_statuses(job) == {"Launcher": {"failed": 1}, "Worker": {"active": 1}})
    assert not job.is_true("Failed")


@pytest.mark.checklist(150)
def test_a_complete_batch_job_is_the_jobs_success_at_the_same_moment(isolated: IsolatedNamespace) -> None:
    job = running(isolated, mpi.job(1, version="v2beta1"))
    isolated.kubelet.succeed(launcher_pod(job))
    found = job.becomes("Succeeded")
    assert (found["reason"], found["message"]) == ("MPIJobSucceeded", f"MPIJob {isolated.namespace}/j successfully completed.")
    assert job.status["completionTime"] == mpi.launcher_job(job)["status"]["completionTime"]
    assert job.states() == {"Created": "True", "Running": "False", "Succeeded": "True"}


@pytest.mark.checklist(150)
def test_an_exceeded_limit_names_the_last_failed_pods_reason(isolated: IsolatedNamespace) -> None:
    job = running(isolated, mpi.job(1, {"backoffLimit": 0}, "v2beta1"))
    isolated.kubelet.fail_without_status(launcher_pod(job), "Evicted", "The node was low on resource: memory.")
    found = job.becomes("Failed")
    assert found["reason"] == "BackoffLimitExceeded/Evicted"
    assert found["message"] == "Job has reached the specified backoff limit: The node was low on resource: memory."
    assert job.status["completionTime"]


@pytest.mark.checklist(150)
def test_an_exceeded_limit_keeps_the_launchers_exit_code_and_last_log_lines(isolated: IsolatedNamespace) -> None:
    job = running(isolated, mpi.job(1, {"backoffLimit": 0}, "v2beta1"))
    isolated.kubelet.fail(launcher_pod(job), code=3, message="mpirun: no such host")
    assert job.becomes("Failed")["reason"] == "BackoffLimitExceeded"
    failure = job.status["failure"]
    assert (failure["replica"], failure["exitCode"], failure["message"]) == ("Launcher", 3, "mpirun: no such host")


@pytest.mark.checklist(151)
def test_suspending_halts_the_batch_job_and_takes_the_workers(isolated: IsolatedNamespace) -> None:
    job = running(isolated, mpi.job(1, version="v2beta1"))
    job.suspend()
    found = job.becomes("Suspended")
    assert (found["reason"], found["message"]) == ("MPIJobSuspended", "MPIJob suspended")
    halted = job.condition("Running")
    assert (halted["status"], halted["reason"]) == ("False", "MPIJobSuspended")
    eventually(lambda: mpi.launcher_job(job)["spec"]["suspend"] is True)
    eventually(lambda: job.pods() == {})  # the launcher's by the Job controller
    consistently(lambda: job.pods() == {}, 0.5)
    assert isolated.api.find("secrets", isolated.namespace, "j-ssh")
    assert isolated.api.find("configmaps", isolated.namespace, "j-config")


@pytest.mark.checklist(151)
def test_resuming_reverses_all_of_it_and_renews_the_start_time(isolated: IsolatedNamespace) -> None:
    job = running(isolated, mpi.job(1, version="v2beta1"))
    first, launcher = job.status["startTime"], mpi.launcher_job(job)["metadata"]["uid"]
    job.suspend()
    job.becomes("Suspended")
    eventually(lambda: job.pods() == {})
    eventually(lambda: fake_kubelet.now() > first)  # stored times are whole seconds

    job.suspend(False)

    isolated.kubelet.run("j-worker-0", launcher_pod(job))
    job.becomes("Running")
    resumed = job.condition("Suspended")
    assert (resumed["status"], resumed["reason"], resumed["message"]) == ("False", "MPIJobResumed", "MPIJob resumed")
    assert job.status["startTime"] > first
    assert mpi.launcher_job(job)["spec"]["suspend"] is False
    assert mpi.launcher_job(job)["metadata"]["uid"] == launcher


@pytest.mark.checklist(151)
def test_a_job_created_suspended_has_a_suspended_batch_job_and_no_workers(isolated: IsolatedNamespace) -> None:
    job = isolated.submit(mpi.job(1, {"suspend": True}, "v2beta1"))
    assert mpi.launcher_job(job)["spec"]["suspend"] is True
    consistently(lambda: job.pods() == {}, 0.5)
    assert job.states() == {"Created": "True", "Suspended": "True"}
    assert "startTime" not in job.status
    assert replica_statuses(job) == {"Launcher": {}, "Worker": {}}
    job.suspend(False)
    isolated.kubelet.run("j-worker-0", launcher_pod(job))
    job.becomes("Running")


def test_what_a_queue_changes_while_the_job_is_suspended_reaches_the_launcher(isolated: IsolatedNamespace) -> None:
    """Also the second time, when the batch Job has been started before, and also what is taken away again."""
    job = isolated.submit(mpi.job(1, {"suspend": True}, "v2beta1"))
    mpi.launcher_job(job)
    for selector in ({"zone": "a", "rack": "1"}, {"zone": "b"}):
        cleared = {"zone": None, "rack": None, **selector}
        toleration = {"key": "gpu", "operator": "Equal", "value": selector["zone"]}
        change = {"nodeSelector": cleared, "tolerations": [toleration]}
        job.patch({"mpiReplicaSpecs": {"Launcher": {"template": {"spec": change}}}})
        job.suspend(False)
        spec = isolated.kubelet.pod(launcher_pod(job))["spec"]
        assert spec["nodeSelector"] == selector
        assert toleration in spec["tolerations"]
        job.suspend()
        eventually(lambda: job.pods() == {})


def test_a_launcher_that_waits_for_ready_workers_waits_after_a_resume_too(isolated: IsolatedNamespace) -> None:
    job = isolated.submit(mpi.job(1, {"suspend": True}, "v2beta1", launcherCreationPolicy="WaitForWorkersReady"))
    mpi.launcher_job(job)
    job.suspend(False)
    isolated.kubelet.pod("j-worker-0")
    consistently(lambda: mpi.launcher_job(job)["spec"]["suspend"] is True)
    isolated.kubelet.run("j-worker-0")
    launcher_pod(job)


def test_suspending_takes_workers_beyond_a_lowered_number_too(isolated: IsolatedNamespace) -> None:
    job = isolated.submit(mpi.job(3, version="v2beta1"))
    isolated.kubelet.pod("j-worker-2")
    job.patch({"runPolicy": {"suspend": True}, "mpiReplicaSpecs": {"Worker": {"replicas": 1}}})
    eventually(lambda: workers(job) == {})


@pytest.mark.checklist(152)
@pytest.mark.parametrize(("policy", "kept"), [("None", True), ("Running", False), ("All", False)])
def test_after_success_the_policy_decides_about_the_workers_and_the_batch_job_stays(
    isolated: IsolatedNamespace, policy: str, kept: bool
) -> None:
    job = running(isolated, mpi.job(1, {"cleanPodPolicy": policy}, "v2beta1"))
    before, launcher = workers(job), launcher_pod(job)
    isolated.kubelet.succeed(launcher)
    job.becomes("Succeeded")
    eventually(lambda: workers(job) == (before if kept else {}))
    consistently(lambda: workers(job) == (before if kept else {}), 0.5)
    assert mpi.launcher_job(job)["status"]["succeeded"] == 1
    assert launcher in job.pods()


@pytest.mark.checklist(152)
def test_policy_running_keeps_workers_that_have_ended(isolated: IsolatedNamespace) -> None:
    job = isolated.submit(mpi.job(2, {"cleanPodPolicy": "Running"}, "v2beta1"))
    isolated.kubelet.run("j-worker-0", "j-worker-1", launcher_pod(job), bind=False)
    job.becomes("Running")
    isolated.kubelet.succeed("j-worker-1")
    isolated.kubelet.succeed(launcher_pod(job))
    job.becomes("Succeeded")
    eventually(lambda: workers(job).keys() == {"j-worker-1"})


def test_the_time_to_live_takes_the_job_itself(isolated: IsolatedNamespace) -> None:
    job = running(isolated, mpi.job(1, {"ttlSecondsAfterFinished": 0}, "v2beta1"))
    isolated.kubelet.succeed(launcher_pod(job))
    eventually(lambda: job.gone)


def test_a_failed_worker_leaves_the_verdict_to_the_launcher(isolated: IsolatedNamespace) -> None:
    job = running(isolated, mpi.job(1, version="v2beta1"))
    isolated.kubelet.fail("j-worker-0", code=1)
    eventually(lambda: job.counts("Worker")["failed"] == 1)
    consistently(lambda: not job.is_true("Failed"), 0.5)
    isolated.kubelet.succeed(launcher_pod(job))
    job.becomes("Succeeded")
