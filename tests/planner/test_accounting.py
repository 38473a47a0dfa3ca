"""What a lost pod costs: who is charged, who is excused, and how often."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.planner import manifests, strategies
from tests.planner.cluster import DISRUPTIONS
from tests.planner.examples import tried
from tests.planner.manifests import Manifest
from tests.planner.stories import book, own_pods, recover, started
from tests.planner.world import World

# Restart policy and exit code of a pod that fails by itself: what becomes of the job (PyTorchJob, which tolerates nothing).
OWN_EXITS = [
    ("Never", 1, "failed"),
    ("Never", 137, "failed"),
    ("OnFailure", 1, "restarted"),
    ("OnFailure", 137, "restarted"),
    ("Always", 1, "restarted"),
    ("ExitCode", 1, "failed"),
    ("ExitCode", 127, "failed"),
    ("ExitCode", 128, "restarted"),
    ("ExitCode", 137, "restarted"),
]


@pytest.mark.parametrize(("policy", "code", "fate"), OWN_EXITS)
def test_a_pods_own_exit_is_judged_by_its_restart_policy_and_charged(policy: str, code: int, fate: str) -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart=policy))
    uid = world.pod("j-worker-1")["metadata"]["uid"]
    cluster.fail("j-worker-1", code, message="cuda error")
    world.settle()
    if fate == "failed":
        assert world.is_true("Failed")
        assert world.pod("j-worker-1")["metadata"]["uid"] == uid
        assert book(world) == (0, 0)
    else:
        assert world.is_true("Restarting") or world.is_true("Running")
        recover(world, cluster)
        assert world.is_true("Running")
        assert world.pod("j-worker-1")["metadata"]["uid"] != uid
        assert book(world) == (1, 0)
    assert world.status["failure"]["message"] == "cuda error"
    assert (world.status["failure"]["replica"], world.status["failure"]["exitCode"]) == ("Worker 1", code)


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always", "ExitCode"])
@pytest.mark.parametrize("event", DISRUPTIONS)
def test_a_disruption_is_recreated_under_every_policy_and_charged_to_nobody(policy: str, event: str) -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart=policy, policy={"backoffLimit": 0}))
    uid = world.pod("j-worker-1")["metadata"]["uid"]
    getattr(cluster, event)("j-worker-1")
    world.settle()
    assert world.is_true("Restarting") or world.is_true("Running")
    recover(world, cluster)
    assert world.is_true("Running")
    assert world.pod("j-worker-1")["metadata"]["uid"] != uid
    assert book(world) == (0, 1)
    assert "failure" not in world.status
    assert world.status["lastFailure"]["disruption"]


@pytest.mark.parametrize("kind", ["TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"])
def test_a_running_pod_deleted_by_hand_fails_no_kind_of_job(kind: str) -> None:
    roles: dict[str, Manifest] = {
        "TFJob": {"Worker": 2},
        "JAXJob": {"Worker": 2},
        "PaddleJob": {"Worker": 2},
        "MPIJob": {"Launcher": 1, "Worker": 1},
    }
    job = manifests.job(kind, restart="Never", **roles.get(kind, {"Master": 1, "Worker": 1}))
    world, cluster = started(job)
    victim = own_pods(world)[-1]
    cluster.delete(victim)
    world.settle()
    assert world.is_true("Restarting")
    cluster.stop_containers(victim)
    world.settle()
    assert not world.is_true("Failed")
    recover(world, cluster)
    assert world.is_true("Running")
    assert book(world) == (0, 1)


def test_an_eviction_that_the_pod_caused_itself_is_its_own_exit() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="Never"))
    cluster.evict_for_its_own_fault("j-worker-0")
    world.settle()
    assert world.is_true("Failed")


def test_a_pod_that_failed_before_it_was_deleted_has_failed() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="Never"))
    pod = world.pod("j-worker-0")
    cluster.fail("j-worker-0")
    cluster.pass_time(5)
    pod["metadata"]["finalizers"] = ["example.com/keep"]
    pod["metadata"].update(deletionTimestamp="2026-01-01T12:01:00Z", deletionGracePeriodSeconds=0)
    world.settle()
    assert world.is_true("Failed")


def test_under_exit_code_a_failed_pod_without_container_status_is_restarted() -> None:
    world, cluster = started(manifests.job("TFJob", Worker=2, PS=1, restart="ExitCode"))
    cluster.fail("j-worker-1")
    world.pod("j-worker-1")["status"]["containerStatuses"] = []
    world.settle()
    recover(world, cluster)
    assert world.is_true("Running")
    assert book(world) == (1, 0)


def test_of_losses_seen_together_only_the_first_counts() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=3, restart="ExitCode"))
    cluster.fail("j-worker-2", 137)
    cluster.pass_time(1)
    for victim in ("j-master-0", "j-worker-0", "j-worker-1"):
        cluster.fail(victim, 1)
    world.settle()
    recover(world, cluster)
    assert world.is_true("Running")
    assert book(world) == (1, 0)
    assert world.status["failure"]["replica"] == "Worker 2"
    assert "lastFailure" not in world.status


def test_what_falls_before_all_replicas_have_run_again_is_a_victim_of_the_first_loss() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.preempt("j-worker-1")
    world.settle()
    cluster.pass_time(3)
    cluster.fail("j-worker-0", 1)
    world.settle()
    assert not world.is_true("Failed")
    recover(world, cluster)
    assert world.is_true("Running")
    assert book(world) == (0, 1)


def test_a_deletion_comes_before_what_it_causes_though_its_grace_ends_later() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.delete("j-worker-1", grace=300)
    cluster.pass_time(2)
    cluster.fail("j-worker-0", 1)
    world.settle()
    assert not world.is_true("Failed")


def test_a_pod_that_ends_on_being_deleted_was_taken_away_though_nobody_saw_it_leave() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="Never"))
    cluster.delete("j-worker-0")
    cluster.pass_time(2)
    cluster.stop_containers("j-worker-0")
    world.settle()
    assert not world.is_true("Failed")
    assert book(world) == (0, 1)


def test_a_pod_that_vanished_comes_before_what_its_going_caused() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.vanish("j-worker-1")
    cluster.pass_time(2)
    cluster.fail("j-worker-0", 1)
    cluster.pass_time(2)
    world.settle()
    assert not world.is_true("Failed")
    assert book(world) == (0, 1)


def test_a_pod_of_the_new_attempt_that_fails_is_no_victim_of_the_old() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.evict("j-worker-1")
    world.settle()
    cluster.pass_time(2)
    cluster.run("j-worker-1")
    cluster.pass_time(2)
    cluster.fail("j-worker-1", 1)
    cluster.find_no_node("j-worker-1")
    world.settle()
    assert world.is_true("Failed")


def test_the_operators_clock_may_go_wrong_without_hiding_failures() -> None:
    """The API server dates pods; an operator whose clock is fast must not take all new pods for old ones."""
    job = manifests.job("PyTorchJob", Worker=1, restart="OnFailure", policy={"backoffLimit": 3})
    world, cluster = started(job)
    fast = 3600.0
    for _ in range(3):
        cluster.fail("j-worker-0", 1)
        cluster.pass_time(fast)
        world.carry_out(world.plan())
        cluster.pass_time(-fast)
        for _ in range(3):
            cluster.pass_time(400)
            world.settle()
            cluster.run_all()
    assert world.is_true("Failed")
    assert world.status["endedBy"] == "BackoffLimit"


def test_a_failure_is_charged_once_though_the_operator_is_killed_between_any_two_steps() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="OnFailure"))
    cluster.fail("j-worker-0")
    for _ in range(3):
        plan = world.plan()
        if plan.status is not None:
            world.carry_out(type(plan)(status=plan.status))
        world.restart_operator()
    recover(world, cluster)
    assert book(world) == (1, 0)


def test_a_failed_pod_whose_replica_comes_and_goes_is_charged_once() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="OnFailure"))
    pod = world.pod("j-worker-1")
    pod["metadata"].update(finalizers=["example.com/keep"], deletionTimestamp="2026-01-01T13:00:00Z")
    cluster.fail("j-worker-1")
    world.settle()
    before = book(world)
    for replicas in (1, 2):
        cluster.scale("Worker", replicas)
        world.settle()
        world.restart_operator()
    world.settle()
    assert book(world) == before


@pytest.mark.parametrize("restarted", [False, True], ids=["same operator", "operator restarted"])
def test_pods_that_the_operator_sends_away_itself_are_no_losses(restarted: bool) -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.scale("Worker", 1)
    world.settle()
    if restarted:
        world.restart_operator()
    cluster.scale("Worker", 2)
    world.settle()
    cluster.stop_containers("j-worker-1")
    world.settle()
    assert world.is_true("Running")
    recover(world, cluster)
    assert book(world) == (0, 0)
    assert own_pods(world) == ["j-master-0", "j-worker-0", "j-worker-1"]


def test_restarts_inside_pods_and_restarts_of_pods_add_up_to_the_limit() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1, restart="OnFailure", policy={"backoffLimit": 3})
    world, cluster = started(job)
    cluster.restart_container("j-worker-0")
    world.settle()
    cluster.fail("j-worker-0")
    world.settle()
    assert not world.is_true("Failed")
    assert book(world) == (2, 0)
    recover(world, cluster)
    cluster.restart_container("j-master-0")
    world.settle()
    assert world.is_true("Failed")
    assert world.condition("Failed")["message"] == "Job j has failed because it has reached the specified backoff limit"  # type: ignore[index]
    assert own_pods(world) == [] or all("deletionTimestamp" in pod["metadata"] for pod in world.of("pods"))


def test_a_pod_that_leaves_is_not_counted_twice_against_the_limit() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1, restart="OnFailure", policy={"backoffLimit": 2})
    world, cluster = started(job)
    cluster.restart_container("j-worker-0")
    cluster.preempt("j-worker-0")
    world.settle()
    assert not world.is_true("Failed")
    assert book(world) == (1, 1)


@pytest.mark.parametrize(("limit", "lives"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_the_backoff_limit_counts_pods_that_the_operator_restarts(limit: int, lives: int) -> None:
    world, cluster = started(manifests.job("PyTorchJob", Worker=1, restart="OnFailure", policy={"backoffLimit": limit}))
    for life in range(1, lives + 1):
        assert world.is_true("Running")
        cluster.fail("j-worker-0")
        world.settle()
        assert world.is_true("Failed") == (life == lives)
        recover(world, cluster)


def test_delays_grow_with_losses_in_a_row_and_begin_anew_after_a_calm() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Worker=1, restart="OnFailure"))
    delays = []
    for _ in range(7):
        cluster.fail("j-worker-0")
        plan = world.settle()
        delays.append((plan.requeue_at - world.now).total_seconds() if not world.of("pods") and plan.requeue_at else 0)
        recover(world, cluster)
    assert delays[0] == 0
    assert [round(delay + 0.5) for delay in delays[1:]] == [10, 20, 40, 80, 160, 300]
    cluster.pass_time(601 + 300)
    cluster.fail("j-worker-0")
    world.settle()
    assert own_pods(world) == ["j-worker-0"]


def test_worker_failures_that_a_kind_tolerates_are_left_alone_and_told() -> None:
    job = manifests.job("TFJob", Worker=3, PS=1, restart="Never", spec={"enableDynamicWorker": True})
    world, cluster = started(job)
    cluster.fail("j-worker-2", message="out of data")
    world.settle()
    assert world.is_true("Running")
    assert not world.is_true("Restarting")
    assert world.pod("j-worker-2")["status"]["phase"] == "Failed"
    assert book(world) == (0, 0)
    assert world.status["failure"]["message"] == "out of data"
    assert world.status["why"]["reason"] == "ReplicaFailed"
    cluster.preempt("j-worker-1")
    recover(world, cluster)
    assert world.is_true("Running")
    assert not world.status["restarts"].get("open")


@tried(100)
@hypothesis.given(job=strategies.valid_jobs(), data=st.data())
def test_however_a_job_is_disrupted_it_never_fails_and_nothing_is_charged(job: Manifest, data: st.DataObject) -> None:
    job["spec"]["runPolicy"] = {"backoffLimit": 0}
    world, cluster = started(job)
    for _ in range(data.draw(st.integers(1, 4))):
        names = [name for name in own_pods(world) if world.pod(name)["status"]["phase"] in ("Running", "Pending")]
        for name in data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []:
            getattr(cluster, data.draw(st.sampled_from(DISRUPTIONS)))(name)
            if data.draw(st.booleans()):
                world.settle()
            if data.draw(st.booleans()):
                world.restart_operator()
        recover(world, cluster)
        assert not world.is_true("Failed")
        assert book(world)[0] == 0
        assert len(own_pods(world)) == sum(1 for _ in _expected(world))


def _expected(world: World) -> list[str]:
    job = world.kind.following(world.stored).job(world.stored)
    delegated = {role.name for role in world.kind.following(world.stored).roles if role.delegated}
    return [role for role in job.roles if role not in delegated for _ in range(job.count(role))]


@tried(100)
@hypothesis.given(
    kind=st.sampled_from(["PyTorchJob", "TFJob", "PaddleJob", "JAXJob", "MPIJob"]),
    events=st.lists(st.sampled_from(["fail", "restart_container", *DISRUPTIONS]), max_size=6),
    data=st.data(),
)
def test_each_failure_is_charged_once_and_each_disruption_counted_once(kind: str, events: list[str], data: st.DataObject) -> None:
    roles: Manifest = {"PyTorchJob": {"Master": 1, "Worker": 2}, "MPIJob": {"Launcher": 1, "Worker": 2}}.get(kind, {"Worker": 3})
    world, cluster = started(manifests.job(kind, restart="OnFailure", **roles))
    charged = disruptions = inside = 0
    for event in events:
        name = data.draw(st.sampled_from(own_pods(world)))
        lived = sum(status.get("restartCount", 0) for status in world.pod(name)["status"]["containerStatuses"])
        getattr(cluster, event)(name)
        if event == "restart_container":
            inside += 1
        else:
            # A kubelet that refuses a pod reports no containers, so what had happened in them is not known.
            charged += lived if event != "refuse_at_node" else 0
            charged, disruptions = (charged + 1, disruptions) if event == "fail" else (charged, disruptions + 1)
        world.settle()
        recover(world, cluster)
        assert book(world) == (charged, disruptions)
        assert world.is_true("Running")
