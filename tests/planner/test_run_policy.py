"""The end of a job: limits, clean-up of pods, and time to live."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.planner import manifests
from tests.planner.manifests import Manifest
from tests.planner.scenarios import own_pods, posted, recover, started
from tests.planner.simulation import Simulation

from traincrew.planner.actions import Patch


def ended(policy: Manifest) -> Simulation:
    """A PyTorchJob whose master has succeeded, and one worker too, while one runs and one is being created."""
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=3, policy=policy))
    simulation.pod("j-worker-2")["status"] = {"phase": "Pending"}
    cluster.succeed("j-master-0")
    cluster.succeed("j-worker-1")
    simulation.settle()
    assert simulation.is_true("Succeeded")
    return simulation


def leaving(simulation: Simulation) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in simulation.of("pods") if "deletionTimestamp" in pod["metadata"])


@pytest.mark.parametrize(
    ("policy", "gone", "services"),
    [
        pytest.param("None", [], ["j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"], id="None: all remain"),
        pytest.param("Running", ["j-worker-0", "j-worker-2"], ["j-master-0", "j-worker-1"], id="Running: the finished remain"),
        pytest.param("All", ["j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"], [], id="All: none remain"),
        pytest.param("Sometimes", ["j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"], [], id="any other acts like All"),
    ],
)
def test_clean_pod_policy_says_what_goes(policy: str, gone: list[str], services: list[str]) -> None:
    simulation = ended({"cleanPodPolicy": policy})
    missing = {"j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"} - set(own_pods(simulation))
    assert sorted(missing | set(leaving(simulation))) == gone
    assert simulation.names("services") == services


def test_an_explicit_none_leaves_running_pods_alone_and_says_how_many() -> None:
    simulation = ended({"cleanPodPolicy": "None"})
    assert simulation.status["why"]["reason"] == "PodsStillRunning"
    assert simulation.status["why"]["message"].startswith("1 pod is still running")
    assert simulation.settle().requeue_at is None
    simulation.now += dt.timedelta(days=1)
    assert simulation.plan().empty


def test_a_failed_job_says_of_what_for_good() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", restart="Never", Master=1, Worker=2))
    cluster.fail("j-worker-1", message="Traceback …\n\nValueError: bad shape\n")
    simulation.settle()
    assert simulation.status["why"]["reason"] == "ReplicaFailed"
    assert simulation.status["why"]["message"] == "Worker 1 failed with exit code 1: ValueError: bad shape"
    before = simulation.status["why"]
    simulation.now += dt.timedelta(days=1)
    simulation.settle()
    assert simulation.status["why"] == before


def test_without_a_policy_running_pods_are_ended_after_a_grace_period_and_kept() -> None:
    simulation = ended({})
    assert leaving(simulation) == []
    plan = simulation.settle()
    assert plan.requeue_at == dt.datetime.fromisoformat(simulation.status["completionTime"]) + dt.timedelta(seconds=31)
    simulation.now = plan.requeue_at - dt.timedelta(microseconds=1)
    assert simulation.plan().empty
    simulation.now = plan.requeue_at
    actions = [action for stage in simulation.plan().stages for action in stage]
    limited = [action.name for action in actions if isinstance(action, Patch)]
    assert limited == ["j-worker-0", "j-worker-2"]
    simulation.settle()
    assert simulation.pod("j-worker-0")["spec"]["activeDeadlineSeconds"] == 1
    assert simulation.plan().empty
    assert simulation.settle().requeue_at is None
    assert set(own_pods(simulation)) == {"j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"}


@pytest.mark.parametrize(("seconds", "wait"), [(0, 0), (5, 6), (3600, 3601)])
def test_the_job_goes_when_its_time_to_live_has_surely_passed(seconds: int, wait: int) -> None:
    simulation, cluster = started(manifests.job("JAXJob", Worker=1, policy={"ttlSecondsAfterFinished": seconds}))
    cluster.succeed("j-worker-0")
    simulation.execute(simulation.plan())
    moment = dt.datetime.fromisoformat(simulation.status["completionTime"]) + dt.timedelta(seconds=wait)
    if wait:
        assert simulation.settle().requeue_at == moment
        simulation.now = moment - dt.timedelta(microseconds=1)
        assert simulation.plan().empty
    simulation.now = max(moment, simulation.now)
    simulation.settle()
    assert simulation.job is None
    assert simulation.events[-1] == ("SuccessfulDeletePod", "Deleted job: j")


def test_a_job_that_another_operator_ended_without_a_time_is_dated_by_its_condition() -> None:
    job = manifests.job("JAXJob", Worker=1, policy={"ttlSecondsAfterFinished": 60})
    since = "2026-01-01T11:59:30Z"
    failed = {"type": "Failed", "status": "True", "reason": "JAXJobFailed", "lastTransitionTime": since}
    job["status"] = {"conditions": [failed]}
    simulation, _ = posted(job)
    assert simulation.settle().requeue_at == dt.datetime.fromisoformat(since) + dt.timedelta(seconds=61)


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"])
def test_the_deadline_ends_any_kind_in_time_and_sweeps_up(kind: str) -> None:
    roles: Manifest = {"XGBoostJob": {"Master": 1}, "MPIJob": {"Launcher": 1}}.get(kind, {"Worker": 1})
    policy = {"activeDeadlineSeconds": 60, "cleanPodPolicy": "None"}
    simulation, cluster = started(manifests.job(kind, policy=policy, **roles))
    begun = dt.datetime.fromisoformat(simulation.status["startTime"])
    assert simulation.settle().requeue_at == begun + dt.timedelta(seconds=61)
    simulation.now = begun + dt.timedelta(seconds=61)
    simulation.settle()
    assert simulation.condition("Failed")["message"] == "Job j has failed because it was active longer than specified deadline"  # type: ignore[index]
    assert simulation.status["completionTime"] == "2026-01-01T12:01:01Z"
    cluster.finish_deletions()
    assert own_pods(simulation) == []


def test_a_deadline_of_0_fails_at_once() -> None:
    simulation, _ = posted(manifests.job("JAXJob", Worker=1, policy={"activeDeadlineSeconds": 0}))
    assert simulation.is_true("Failed")
    assert own_pods(simulation) == []


def test_a_deadline_beyond_the_calendar_is_none() -> None:
    simulation, _ = started(manifests.job("JAXJob", Worker=1, policy={"activeDeadlineSeconds": 2**63 - 1}))
    assert simulation.settle().requeue_at is None


def test_success_is_seen_before_a_failure_of_the_same_moment() -> None:
    simulation, cluster = started(manifests.job("TFJob", Chief=1, Worker=1, restart="Never"))
    cluster.fail("j-worker-0")
    cluster.succeed("j-chief-0")
    simulation.settle()
    assert simulation.is_true("Succeeded")
    assert simulation.condition("Failed") is None


def test_the_earliest_of_several_moments_is_the_one_to_look_again_at() -> None:
    job = manifests.job("PyTorchJob", Worker=2, policy={"activeDeadlineSeconds": 3600})
    simulation, cluster = started(job)
    for _ in range(2):
        cluster.fail("j-worker-1")
        recover(simulation, cluster)
    cluster.fail("j-worker-1")
    plan = simulation.settle()
    assert plan.requeue_at == dt.datetime.fromisoformat(simulation.status["restarts"]["retryAt"])
    cluster.delete("j-worker-0", grace=5)
    assert simulation.settle().requeue_at == dt.datetime.fromisoformat(
        simulation.pod("j-worker-0")["metadata"]["deletionTimestamp"]
    ) + dt.timedelta(seconds=10)


def test_pods_that_end_by_themselves_after_the_job_are_counted_and_change_nothing_else() -> None:
    simulation, cluster = started(manifests.job("TFJob", Chief=1, Worker=2, policy={"cleanPodPolicy": "None"}))
    cluster.succeed("j-chief-0")
    simulation.settle()
    assert simulation.status["replicaStatuses"]["Worker"] == {"active": 2}
    conditions = simulation.status["conditions"]
    cluster.fail("j-worker-0")
    cluster.succeed("j-worker-1")
    simulation.settle()
    counts = {"Chief": {"succeeded": 1, "completedIndexes": "0"}, "Worker": {"succeeded": 1, "failed": 1}}
    assert simulation.status["replicaStatuses"] == counts
    assert simulation.status["conditions"] == conditions
    assert "failure" not in simulation.status
    cluster.vanish("j-worker-1")
    simulation.settle()
    assert simulation.status["replicaStatuses"] == counts


def test_pods_that_the_clean_up_ends_are_not_counted() -> None:
    simulation, cluster = started(manifests.job("TFJob", Chief=1, Worker=2, policy={"cleanPodPolicy": "Running"}))
    cluster.succeed("j-chief-0")
    simulation.settle()
    for name in ("j-worker-0", "j-worker-1"):
        cluster.stop_containers(name)
    simulation.settle()
    assert simulation.status["replicaStatuses"]["Worker"] == {}


def test_a_job_that_was_never_started_and_is_invalid_fails_with_every_violation() -> None:
    job = manifests.job("PyTorchJob", Master=2, Worker=0)
    simulation, _ = posted(job)
    message = simulation.condition("Failed")["message"]  # type: ignore[index]
    assert "[Master].replicas: must be 1, got 2" in message
    assert "[Worker].replicas: must be at least 1, got 0" in message
    assert simulation.status["endedBy"] == "Validation"
    assert "completionTime" in simulation.status
    assert simulation.objects == {}


def test_a_number_of_ten_digits_is_a_violation() -> None:
    simulation, _ = posted(manifests.job("JAXJob", Worker=2**31 - 1))
    assert "must be at most" in simulation.condition("Failed")["message"]  # type: ignore[index]


@pytest.mark.parametrize("manager", ["kueue.x-k8s.io/multikueue", ""])
def test_a_job_that_another_manages_is_not_touched(manager: str) -> None:
    simulation, _ = posted(manifests.job("JAXJob", Worker=1, policy={"managedBy": manager}))
    assert simulation.status == {}
    assert simulation.objects == {}
