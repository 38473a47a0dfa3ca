"""Failures that belong to the loss of another replica, although they are seen before it or long after it."""

from __future__ import annotations

import datetime as dt

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.planner import manifests
from tests.planner.cluster_events import ClusterEvents
from tests.planner.hypothesis_settings import max_examples
from tests.planner.scenarios import own_pods, recover, restart_counts, started
from tests.planner.simulation import Simulation

from traincrew import settings

PEER_LOST = "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4711"
BUG = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nValueError: bad batch'
GRACE = round(settings.Planning.node_loss_grace)
PODS = ("j-master-0", "j-worker-0", "j-worker-1")


def _running(restart: str = "Never", **policy: int) -> tuple[Simulation, ClusterEvents]:
    """A job with three replicas on nodes of their own."""
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart=restart, policy=policy))
    _spread(simulation)
    cluster.pass_time(120)
    return simulation, cluster


def _spread(simulation: Simulation) -> None:
    for name in PODS:
        simulation.pod(name)["spec"]["nodeName"] = f"node-of-{name}"


@pytest.mark.parametrize("restart", ["Never", "ExitCode"])
@pytest.mark.parametrize("restarted", [False, True], ids=["same operator", "operator restarted"])
def test_replicas_that_fail_before_the_loss_of_a_node_is_noticed_do_not_fail_the_job(restart: str, restarted: bool) -> None:
    simulation, cluster = _running(restart)
    for name in PODS[:2]:
        cluster.fail(name, message=PEER_LOST)
        plan = simulation.settle()
        assert not simulation.is_true("Failed")
        assert simulation.status["why"]["reason"] == "NodeMayBeLost"
        assert plan.requeue_at is not None
        cluster.pass_time(20)
    if restarted:
        simulation.restart_operator()
    lost = simulation.pod("j-worker-1")["metadata"]["uid"]
    cluster.stop_heartbeat("j-worker-1")
    simulation.settle()
    assert restart_counts(simulation) == (0, 1)
    last = simulation.status["lastFailure"]
    assert (last["replica"], last["reason"], last["disruption"]) == ("Worker 1", "NodeLost", True)
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert "why" not in simulation.status
    assert simulation.pod("j-worker-1")["metadata"]["uid"] != lost
    assert restart_counts(simulation) == (0, 1)
    assert "failure" not in simulation.status


@pytest.mark.parametrize("event", ["vanish", "lose_node", "preempt"])
def test_a_deletion_that_is_noticed_after_its_victims_is_their_cause(event: str) -> None:
    simulation, cluster = _running()
    cluster.fail("j-worker-0", message=PEER_LOST)
    simulation.settle()
    cluster.pass_time(GRACE - 5)
    getattr(cluster, event)("j-worker-1")
    simulation.settle()
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 1)


def test_a_job_fails_if_no_loss_is_noticed_within_the_grace() -> None:
    simulation, cluster = _running()
    cluster.fail("j-worker-0", message=PEER_LOST)
    plan = simulation.settle()
    assert plan.requeue_at is not None
    simulation.now = plan.requeue_at - dt.timedelta(seconds=1)
    simulation.settle()
    assert not simulation.is_true("Failed")
    simulation.now = plan.requeue_at
    simulation.settle()
    assert simulation.is_true("Failed")
    assert simulation.status["failure"]["replica"] == "Worker 0"


def test_the_wait_ends_although_the_clock_of_the_node_is_an_hour_ahead() -> None:
    simulation, cluster = _running()
    cluster.pass_time(3600)
    cluster.fail("j-worker-0", message=PEER_LOST)
    cluster.pass_time(-3600)
    for _ in range(2):
        simulation.settle()
        assert not simulation.is_true("Failed")
        cluster.pass_time(GRACE - 1)
        simulation.restart_operator()
    simulation.settle()
    assert simulation.is_true("Failed")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(1, BUG, id="a bug of the program"),
        pytest.param(139, PEER_LOST, id="a crash after it survived a loss"),
    ],
)
def test_a_failure_that_is_no_consequence_fails_the_job_at_once(code: int, message: str) -> None:
    simulation, cluster = _running()
    cluster.fail("j-worker-0", code, message=message)
    simulation.settle()
    assert simulation.is_true("Failed")


def _fails_silently(seconds_after_start: float) -> tuple[Simulation, ClusterEvents]:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    _spread(simulation)
    cluster.pass_time(seconds_after_start)
    cluster.fail("j-worker-0", 1, message="")
    simulation.settle()
    return simulation, cluster


def test_a_replica_that_fails_without_a_word_belongs_to_a_node_that_is_found_lost_later() -> None:
    simulation, cluster = _fails_silently(GRACE + 60)
    assert not simulation.is_true("Failed")
    assert "does not say why" in simulation.status["why"]["message"]
    cluster.pass_time(GRACE - 5)
    cluster.stop_heartbeat("j-worker-1")
    simulation.settle()
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 1)
    assert "failure" not in simulation.status


def test_so_it_does_if_the_pod_of_the_lost_node_is_deleted_with_it() -> None:
    simulation, cluster = _fails_silently(GRACE + 60)
    cluster.pass_time(10)
    cluster.lose_node("j-worker-1")
    simulation.settle()
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 1)


def test_a_failure_without_a_word_is_not_excused_by_a_preemption_and_fails_the_job_after_the_grace() -> None:
    simulation, cluster = _fails_silently(GRACE + 60)
    cluster.pass_time(10)
    cluster.preempt("j-worker-1")
    simulation.settle()
    cluster.pass_time(GRACE)
    simulation.settle()
    assert simulation.is_true("Failed")
    assert simulation.status["failure"]["replica"] == "Worker 0"


def test_a_failure_without_a_word_soon_after_the_start_fails_the_job_at_once() -> None:
    simulation, _ = _fails_silently(GRACE - 10)
    assert simulation.is_true("Failed")


def test_the_wait_ends_when_the_replica_that_failed_first_is_seen() -> None:
    simulation, cluster = _running()
    cluster.fail("j-worker-0", message=PEER_LOST)
    simulation.settle()
    assert not simulation.is_true("Failed")
    cluster.fail("j-worker-1", message=BUG)
    simulation.settle()
    assert simulation.is_true("Failed")
    assert simulation.status["failure"]["cause"] == "ValueError: bad batch"


def test_a_bug_fails_the_job_at_once_although_a_node_is_lost() -> None:
    simulation, cluster = _running()
    cluster.stop_heartbeat("j-worker-1")
    cluster.fail("j-worker-0", message=BUG)
    simulation.settle()
    assert simulation.is_true("Failed")


def test_replicas_on_one_node_do_not_wait_for_its_loss() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.fail("j-worker-0", message=PEER_LOST)
    simulation.settle()
    assert simulation.is_true("Failed")


def test_a_failure_that_would_exceed_the_backoff_limit_waits_too() -> None:
    simulation, cluster = _running("ExitCode", backoffLimit=0)
    cluster.fail("j-worker-0", 134, message=PEER_LOST)
    simulation.settle()
    assert not simulation.is_true("Failed")
    cluster.stop_heartbeat("j-worker-1")
    simulation.settle()
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 1)


def test_a_node_that_is_lost_for_a_while_without_victims_costs_nothing() -> None:
    simulation, cluster = _running()
    before = {name: simulation.pod(name)["metadata"]["uid"] for name in PODS}
    cluster.stop_heartbeat("j-worker-1")
    simulation.settle()
    cluster.run("j-worker-1")
    simulation.settle()
    assert {name: simulation.pod(name)["metadata"]["uid"] for name in PODS} == before
    assert restart_counts(simulation) == (0, 0)


@pytest.mark.parametrize(("seconds", "message"), [(5, ""), (5, PEER_LOST), (600, PEER_LOST)])
@pytest.mark.parametrize("restarted", [False, True], ids=["same operator", "operator restarted"])
def test_a_replica_that_notices_a_loss_after_all_others_run_again_belongs_to_it(
    seconds: int, message: str, restarted: bool
) -> None:
    simulation, cluster = _running()
    cluster.preempt("j-worker-1")
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    cluster.pass_time(seconds)
    if restarted:
        simulation.restart_operator()
    cluster.fail("j-worker-0", message=message)
    simulation.settle()
    cluster.fail("j-worker-1", message=message)  # it ran with the late one
    simulation.settle()
    assert not simulation.is_true("Failed")
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 1)


@pytest.mark.parametrize(("seconds", "message"), [(5, BUG), (GRACE + 5, "")])
def test_a_failure_with_a_cause_of_its_own_or_later_than_the_grace_does_not_belong_to_it(seconds: int, message: str) -> None:
    simulation, cluster = _running()
    cluster.preempt("j-worker-1")
    recover(simulation, cluster)
    cluster.pass_time(seconds)
    cluster.fail("j-worker-0", message=message)
    simulation.settle()
    cluster.pass_time(GRACE)
    simulation.settle()
    assert simulation.is_true("Failed")


def test_a_job_that_can_never_connect_after_a_loss_fails_in_the_end() -> None:
    simulation, cluster = _running()
    cluster.preempt("j-worker-1")
    recover(simulation, cluster)
    attempts = 0
    while not simulation.is_true("Failed"):
        for name in own_pods(simulation):
            cluster.fail(name, message=PEER_LOST)
        attempts += 1
        assert attempts < 20
        simulation.settle()
        recover(simulation, cluster)
    assert simulation.now - dt.timedelta(minutes=20) < dt.datetime(2026, 1, 1, 12, 0, tzinfo=dt.UTC)


@max_examples(60)
@hypothesis.given(data=st.data())
def test_whenever_the_loss_of_a_node_is_noticed_the_job_runs_again_and_one_disruption_is_counted(data: st.DataObject) -> None:
    """The victims fail before, while or after the loss is noticed; the operator is killed between any two writes."""
    simulation, cluster = _running(data.draw(st.sampled_from(["Never", "ExitCode"])), backoffLimit=0)
    lost = data.draw(st.sampled_from(PODS))
    victims = [name for name in PODS if name != lost]
    times = {name: data.draw(st.integers(0, GRACE + 30), label=name) for name in victims}
    noticed = data.draw(st.integers(30, GRACE - 5), label="noticed")
    for second in range(max(*times.values(), noticed) + 1):
        present = {name: simulation.pod(name) for name in victims if name in own_pods(simulation)}
        for name, time in times.items():
            old = name in present and present[name]["metadata"]["creationTimestamp"] < "2026-01-01T12:00:10Z"
            if time == second and old and present[name]["status"]["phase"] == "Running":
                cluster.fail(name, data.draw(st.sampled_from([1, 134])), message=PEER_LOST)
        if second == noticed:
            cluster.stop_heartbeat(lost)
        if not (plan := simulation.plan()).empty:
            simulation.execute_partly(plan, data.draw(st.integers(0, 3)))
            simulation.settle()
        assert not simulation.is_true("Failed")
        cluster.pass_time(1)
    if restart_counts(simulation) == (0, 0):  # nobody failed, or only before
        cluster.lose_node(lost)
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 1)
