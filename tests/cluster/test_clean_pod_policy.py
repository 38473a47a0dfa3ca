"""Pods that still run after the end of their job: kept if the user says so, else ended after a grace period."""

from __future__ import annotations

import pytest
from tests.cluster import jobs_with_leader, manifests
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.operators import OperatorProcess
from tests.cluster.submitted_job import SubmittedJob

LED = [kind for kind, leader in jobs_with_leader.LEADERS.items() if leader]


def test_an_explicit_none_leaves_running_pods_alone_and_says_how_many(isolated: IsolatedNamespace) -> None:
    run = {"cleanPodPolicy": "None"}
    with isolated.operator("--finished-job-pod-grace", "1"):
        jobs = [_ended(isolated, kind, kind.lower(), run) for kind in LED]
        control = _ended(isolated, "PyTorchJob", "control", None)
        for job in jobs:
            eventually(lambda job=job: job.why.get("reason") == "PodsStillRunning")  # type: ignore[misc]
            assert job.why["message"] == "1 pod is still running: cleanPodPolicy None keeps it"
            assert job.counts("Worker")["active"] == 1
            assert job.event("PodsStillRunning", "1 pod is still running")

        eventually(lambda: _limit(control, "worker-0") == 1)  # the grace is over for all of them

        consistently(lambda: all(_limit(job, "worker-0") is None for job in jobs), 0.5)
        for job in jobs:
            assert len(job.pods()) == 3
            assert not any(pod["metadata"].get("deletionTimestamp") for pod in job.pods().values())


@pytest.mark.usefixtures("operator")
def test_the_reason_about_running_pods_disappears_with_them(api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=2, run={"cleanPodPolicy": "None"}))
    kubelet.run("j-master-0", "j-worker-0", "j-worker-1")
    kubelet.succeed("j-master-0")
    eventually(lambda: job.why.get("message") == "2 pods are still running: cleanPodPolicy None keeps them")
    kubelet.succeed("j-worker-0")
    eventually(lambda: job.why.get("message") == "1 pod is still running: cleanPodPolicy None keeps it")
    kubelet.succeed("j-worker-1")
    eventually(lambda: not job.why)
    assert job.counts("Worker")["active"] == 0


def test_without_a_policy_running_containers_are_ended_and_their_pods_kept(isolated: IsolatedNamespace) -> None:
    with isolated.operator("--finished-job-pod-grace", "1"):
        jobs = [_ended(isolated, kind, kind.lower(), None) for kind in LED]
        jobs.append(_ended(isolated, "PyTorchJob", "empty-policy", {}))
        uids = {job.name: _uids(job) for job in jobs}
        for job in jobs:
            eventually(lambda job=job: _limit(job, "worker-0") == 1)  # type: ignore[misc]
        for job in jobs:
            assert _uids(job) == uids[job.name]
            assert not any(pod["metadata"].get("deletionTimestamp") for pod in job.pods().values())
            assert [_limit(job, replica) for replica in _done(job)] == [None, None], "what has ended needs no limit"
            assert job.services() == jobs_with_leader.services(job.kind, list(uids[job.name]))


def test_a_pod_that_was_ended_stays_for_its_log_and_changes_nothing_more(isolated: IsolatedNamespace) -> None:
    with isolated.operator("--finished-job-pod-grace", "1"):
        job = _ended(isolated, "PyTorchJob", "j", None)
        eventually(lambda: _limit(job, "worker-0") == 1)
        before = job.conditions
        isolated.kubelet.fail_without_status("j-worker-0", "DeadlineExceeded", "Pod was active on the node longer than the limit")
        eventually(lambda: job.counts("Worker")["active"] == 0)
        consistently(lambda: job.conditions == before and set(job.pods()) == {"j-master-0", "j-worker-0", "j-worker-1"}, 0.5)
        assert not job.why


def test_an_unscheduled_pod_is_deleted(isolated: IsolatedNamespace) -> None:
    with isolated.operator("--finished-job-pod-grace", "1"):
        job = isolated.submit(manifests.job("PyTorchJob", Master=1, Worker=1))
        isolated.kubelet.pod("j-worker-0")
        isolated.kubelet.run("j-master-0")
        isolated.kubelet.succeed("j-master-0")
        job.becomes("Succeeded")
        eventually(lambda: set(job.pods()) == {"j-master-0"})


def test_pods_are_not_touched_before_the_grace_is_over(
    operator: OperatorProcess, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    job = SubmittedJob(api, namespace, manifests.job("PyTorchJob", Master=1, Worker=1))
    kubelet.run("j-master-0", "j-worker-0")
    kubelet.succeed("j-master-0")
    job.becomes("Succeeded")
    eventually(lambda: job.counts("Worker")["active"] == 1)
    consistently(lambda: _limit(job, "worker-0") is None)
    assert not job.pods()["j-worker-0"]["metadata"].get("deletionTimestamp")


def _ended(isolated: IsolatedNamespace, kind: str, name: str, run: Object | None) -> SubmittedJob:
    """A job that has succeeded while worker 0 still runs; worker 1 is done."""
    job = isolated.submit(jobs_with_leader.job(kind, 2, run=run, name=name))
    isolated.kubelet.run(*jobs_with_leader.pods(kind, 2, name))
    isolated.kubelet.succeed(f"{name}-worker-1", jobs_with_leader.leader(kind, name))
    job.becomes("Succeeded")
    return job


def _done(job: SubmittedJob) -> tuple[str, str]:
    return jobs_with_leader.leader(job.kind, job.name).removeprefix(f"{job.name}-"), "worker-1"


def _limit(job: SubmittedJob, replica: str) -> int | None:
    found: int | None = job.pods()[f"{job.name}-{replica}"]["spec"].get("activeDeadlineSeconds")
    return found


def _uids(job: SubmittedJob) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}
