"""How a job ends, what it leaves behind, and when it goes itself."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.planner import manifests
from tests.planner.manifests import Manifest
from tests.planner.stories import own_pods, posted, recover, started
from tests.planner.world import World

from traincrew.planner.actions import Patch


def ended(policy: Manifest) -> World:
    """A PyTorchJob whose master has succeeded, and one worker too, while one runs and one is being created."""
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=3, policy=policy))
    world.pod("j-worker-2")["status"] = {"phase": "Pending"}
    cluster.succeed("j-master-0")
    cluster.succeed("j-worker-1")
    world.settle()
    assert world.is_true("Succeeded")
    return world


def leaving(world: World) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in world.of("pods") if "deletionTimestamp" in pod["metadata"])


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
    world = ended({"cleanPodPolicy": policy})
    missing = {"j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"} - set(own_pods(world))
    assert sorted(missing | set(leaving(world))) == gone
    assert world.names("services") == services


def test_an_explicit_none_leaves_running_pods_alone_and_says_how_many() -> None:
    world = ended({"cleanPodPolicy": "None"})
    assert world.status["why"]["reason"] == "PodsStillRunning"
    assert world.status["why"]["message"].startswith("1 pod is still running")
    assert world.settle().requeue_at is None
    world.now += dt.timedelta(days=1)
    assert world.plan().empty


def test_a_failed_job_says_of_what_for_good() -> None:
    world, cluster = started(manifests.job("PyTorchJob", restart="Never", Master=1, Worker=2))
    cluster.fail("j-worker-1", message="Traceback …\n\nValueError: bad shape\n")
    world.settle()
    assert world.status["why"]["reason"] == "ReplicaFailed"
    assert world.status["why"]["message"] == "Worker 1 failed with exit code 1: ValueError: bad shape"
    before = world.status["why"]
    world.now += dt.timedelta(days=1)
    world.settle()
    assert world.status["why"] == before


def test_where_nothing_was_said_what_still_runs_is_ended_after_a_grace_and_kept() -> None:
    world = ended({})
    assert leaving(world) == []
    plan = world.settle()
    assert plan.requeue_at == dt.datetime.fromisoformat(world.status["completionTime"]) + dt.timedelta(seconds=31)
    world.now = plan.requeue_at - dt.timedelta(microseconds=1)
    assert world.plan().empty
    world.now = plan.requeue_at
    actions = [action for stage in world.plan().stages for action in stage]
    limited = [action.name for action in actions if isinstance(action, Patch)]
    assert limited == ["j-worker-0", "j-worker-2"]
    world.settle()
    assert world.pod("j-worker-0")["spec"]["activeDeadlineSeconds"] == 1
    assert world.plan().empty
    assert world.settle().requeue_at is None
    assert set(own_pods(world)) == {"j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"}


@pytest.mark.parametrize(("seconds", "wait"), [(0, 0), (5, 6), (3600, 3601)])
def test_the_job_goes_when_its_time_to_live_has_surely_passed(seconds: int, wait: int) -> None:
    world, cluster = started(manifests.job("JAXJob", Worker=1, policy={"ttlSecondsAfterFinished": seconds}))
    cluster.succeed("j-worker-0")
    world.carry_out(world.plan())
    moment = dt.datetime.fromisoformat(world.status["completionTime"]) + dt.timedelta(seconds=wait)
    if wait:
        assert world.settle().requeue_at == moment
        world.now = moment - dt.timedelta(microseconds=1)
        assert world.plan().empty
    world.now = max(moment, world.now)
    world.settle()
    assert world.job is None
    assert world.events[-1] == ("SuccessfulDeletePod", "Deleted job: j")


def test_a_job_that_another_operator_ended_without_a_time_is_dated_by_its_condition() -> None:
    job = manifests.job("JAXJob", Worker=1, policy={"ttlSecondsAfterFinished": 60})
    since = "2026-01-01T11:59:30Z"
    failed = {"type": "Failed", "status": "True", "reason": "JAXJobFailed", "lastTransitionTime": since}
    job["status"] = {"conditions": [failed]}
    world, _ = posted(job)
    assert world.settle().requeue_at == dt.datetime.fromisoformat(since) + dt.timedelta(seconds=61)


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"])
def test_the_deadline_ends_any_kind_in_time_and_sweeps_up(kind: str) -> None:
    roles: Manifest = {"XGBoostJob": {"Master": 1}, "MPIJob": {"Launcher": 1}}.get(kind, {"Worker": 1})
    policy = {"activeDeadlineSeconds": 60, "cleanPodPolicy": "None"}
    world, cluster = started(manifests.job(kind, policy=policy, **roles))
    begun = dt.datetime.fromisoformat(world.status["startTime"])
    assert world.settle().requeue_at == begun + dt.timedelta(seconds=61)
    world.now = begun + dt.timedelta(seconds=61)
    world.settle()
    assert world.condition("Failed")["message"] == "Job j has failed because it was active longer than specified deadline"  # type: ignore[index]
    assert world.status["completionTime"] == "2026-01-01T12:01:01Z"
    cluster.finish_deletions()
    assert own_pods(world) == []


def test_a_deadline_of_0_fails_at_once() -> None:
    world, _ = posted(manifests.job("JAXJob", Worker=1, policy={"activeDeadlineSeconds": 0}))
    assert world.is_true("Failed")
    assert own_pods(world) == []


def test_a_deadline_beyond_the_calendar_is_none() -> None:
    world, _ = started(manifests.job("JAXJob", Worker=1, policy={"activeDeadlineSeconds": 2**63 - 1}))
    assert world.settle().requeue_at is None


def test_success_is_seen_before_a_failure_of_the_same_moment() -> None:
    world, cluster = started(manifests.job("TFJob", Chief=1, Worker=1, restart="Never"))
    cluster.fail("j-worker-0")
    cluster.succeed("j-chief-0")
    world.settle()
    assert world.is_true("Succeeded")
    assert world.condition("Failed") is None


def test_the_earliest_of_several_moments_is_the_one_to_look_again_at() -> None:
    job = manifests.job("PyTorchJob", Worker=2, policy={"activeDeadlineSeconds": 3600})
    world, cluster = started(job)
    for _ in range(2):
        cluster.fail("j-worker-1")
        recover(world, cluster)
    cluster.fail("j-worker-1")
    plan = world.settle()
    assert plan.requeue_at == dt.datetime.fromisoformat(world.status["restarts"]["retryAt"])
    cluster.delete("j-worker-0", grace=5)
    assert world.settle().requeue_at == dt.datetime.fromisoformat(
        world.pod("j-worker-0")["metadata"]["deletionTimestamp"]
    ) + dt.timedelta(seconds=10)


def test_after_the_end_only_the_number_of_running_pods_follows_the_world() -> None:
    world, cluster = started(manifests.job("TFJob", Chief=1, Worker=2, policy={"cleanPodPolicy": "None"}))
    cluster.succeed("j-chief-0")
    world.settle()
    assert world.status["replicaStatuses"]["Worker"] == {"active": 2}
    conditions = world.status["conditions"]
    cluster.fail("j-worker-0")
    cluster.vanish("j-worker-1")
    world.settle()
    assert world.status["replicaStatuses"] == {"Chief": {"succeeded": 1, "completedIndexes": "0"}, "Worker": {}}
    assert world.status["conditions"] == conditions
    assert "failure" not in world.status


def test_a_job_that_was_never_started_and_is_invalid_fails_with_every_fault() -> None:
    job = manifests.job("PyTorchJob", Master=2, Worker=0)
    world, _ = posted(job)
    message = world.condition("Failed")["message"]  # type: ignore[index]
    assert "[Master].replicas: must be 1, got 2" in message
    assert "[Worker].replicas: must be at least 1, got 0" in message
    assert world.status["endedBy"] == "Validation"
    assert "completionTime" in world.status
    assert world.objects == {}


def test_a_number_of_ten_digits_is_a_fault_and_no_catastrophe() -> None:
    world, _ = posted(manifests.job("JAXJob", Worker=2**31 - 1))
    assert "must be at most" in world.condition("Failed")["message"]  # type: ignore[index]


@pytest.mark.parametrize("manager", ["kueue.x-k8s.io/multikueue", ""])
def test_a_job_that_another_manages_is_not_touched(manager: str) -> None:
    world, _ = posted(manifests.job("JAXJob", Worker=1, policy={"managedBy": manager}))
    assert world.status == {}
    assert world.objects == {}
