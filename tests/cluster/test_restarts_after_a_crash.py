"""Losses while no operator runs: recorded once, in the order in which they happened."""

from __future__ import annotations

import datetime as dt
import signal
from collections.abc import Callable

import pytest
from tests.cluster import jobs_with_services, manifests, pod_losses
from tests.cluster.api import consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.manifests import FIELDS
from tests.cluster.submitted_job import SubmittedJob

HOLD = "example.com/hold"
WORKERS = ("j-worker-0", "j-worker-1")


def started(isolated: IsolatedNamespace, job: SubmittedJob, count: int = 2) -> dict[str, str]:
    eventually(lambda: len(job.pods()) == count)
    isolated.kubelet.run(*job.pods())
    job.becomes("Running")
    return job.uids()


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "XGBoostJob"])
def test_a_failure_is_charged_once_though_the_operator_is_killed(isolated: IsolatedNamespace, kind: str) -> None:
    body = jobs_with_services.workers(kind, 2, "OnFailure")
    # With a finalizer the failed pod stays in sight after its deletion, for both operators.
    body["spec"][FIELDS[kind]]["Worker"]["template"]["metadata"] = {"finalizers": [HOLD]}
    with isolated.operator() as first:
        job = isolated.submit(body)
        before = started(isolated, job, 3 if kind == "XGBoostJob" else 2)
        isolated.kubelet.restart("j-worker-1", 2)
        pod_losses.end(isolated.kubelet, "j-worker-1", 1)
        eventually(lambda: "deletionTimestamp" in job.pods()["j-worker-1"]["metadata"])
        assert job.restart_counts() == (3, 0), "the pod's end, and the two restarts inside it that would be forgotten with it"
        first.stop(signal.SIGKILL)

    with isolated.operator():
        consistently(lambda: job.restart_counts() == (3, 0) and job.uids() == before)
        isolated.api.patch("pods", isolated.namespace, "j-worker-1", {"metadata": {"finalizers": None}})
        eventually(lambda: job.uids()["j-worker-1"] != before["j-worker-1"])
        isolated.kubelet.run("j-worker-1")
        eventually(lambda: job.is_true("Running") and not job.status["restarts"].get("open"))
        assert job.restart_counts() == (3, 0)
        # The first operator may have been killed before it recorded the event: the second one does so some seconds later.
        eventually(lambda: len(job.events(f"{kind}Restarting")) == 1)


def ended(kubelet: FakeKubelet, pod: str, seconds_ago: int, evicted: bool) -> None:
    """The pod ended that long ago, on its own with exit code 1 or by an eviction."""
    at = (dt.datetime.now(dt.UTC) - dt.timedelta(seconds=seconds_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = kubelet.pod(pod)["status"]["containerStatuses"]
    state = {"terminated": {"exitCode": 137 if evicted else 1, "reason": "Error", "startedAt": at, "finishedAt": at}}
    status = {"phase": "Failed", "containerStatuses": [{**entry, "state": state} for entry in found]}
    why = {"reason": "Evicted", "message": "The node was low on resource: memory. "} if evicted else {}
    kubelet.status(pod, {**status, **why})


def met_by_the_next_operator(isolated: IsolatedNamespace, policy: str, lose: Callable[[FakeKubelet], None]) -> SubmittedJob:
    """A job whose pods are lost while no operator runs, as it stands when the next one has seen it."""
    with isolated.operator() as first:
        job = isolated.submit(jobs_with_services.workers("TFJob", 2, policy))
        before = started(isolated, job)
        first.stop(signal.SIGKILL)
    lose(isolated.kubelet)
    with isolated.operator():
        eventually(lambda: job.is_true("Failed") or all(job.uids()[name] != before[name] for name in WORKERS))
    return job


def test_the_first_of_two_losses_decides_and_a_disruption_excuses_the_failure(
    isolated: IsolatedNamespace,
) -> None:
    def lose(kubelet: FakeKubelet) -> None:
        ended(kubelet, "j-worker-0", 5, evicted=False)
        ended(kubelet, "j-worker-1", 9, evicted=True)

    job = met_by_the_next_operator(isolated, "Never", lose)

    assert not job.is_true("Failed")
    assert job.restart_counts() == (0, 1)


def test_the_first_of_two_losses_decides_and_a_failure_is_not_excused_by_a_later_disruption(
    isolated: IsolatedNamespace,
) -> None:
    def lose(kubelet: FakeKubelet) -> None:
        ended(kubelet, "j-worker-0", 9, evicted=False)
        ended(kubelet, "j-worker-1", 5, evicted=True)

    job = met_by_the_next_operator(isolated, "Never", lose)

    assert job.is_true("Failed")
    assert job.status["failure"]["replica"] == "Worker 0"


def test_of_two_failures_in_one_attempt_the_first_is_charged(isolated: IsolatedNamespace) -> None:
    def lose(kubelet: FakeKubelet) -> None:
        ended(kubelet, "j-worker-0", 5, evicted=False)
        ended(kubelet, "j-worker-1", 9, evicted=False)

    job = met_by_the_next_operator(isolated, "OnFailure", lose)

    assert job.restart_counts() == (1, 0)
    assert job.status["failure"]["replica"] == "Worker 1"


def test_a_pod_that_vanished_meanwhile_is_recreated(isolated: IsolatedNamespace) -> None:
    def lose(kubelet: FakeKubelet) -> None:
        for name in WORKERS:
            kubelet.gone(name)

    job = met_by_the_next_operator(isolated, "Never", lose)

    assert not job.is_true("Failed")
    assert job.restart_counts()[0] == 0


def test_success_and_failure_at_once_are_a_success(isolated: IsolatedNamespace) -> None:
    with isolated.operator() as first:
        job = isolated.submit(manifests.job("TFJob", Chief=1, Worker=1))
        started(isolated, job)
        first.stop(signal.SIGKILL)
    isolated.kubelet.succeed("j-chief-0")
    isolated.kubelet.fail("j-worker-0", code=1)

    with isolated.operator():
        job.becomes("Succeeded")
        consistently(lambda: job.states() == {"Created": "True", "Running": "False", "Succeeded": "True"}, 0.5)
