"""Restart accounting: which losses are charged against backoffLimit."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.planner import manifests, strategies
from tests.planner.cluster_events import DISRUPTIONS
from tests.planner.hypothesis_settings import max_examples
from tests.planner.manifests import Manifest
from tests.planner.scenarios import own_pods, recover, restart_counts, started
from tests.planner.simulation import Simulation

from traincrew import settings

# Restart policy and exit code of a failed pod, and the result for the job (a PyTorchJob tolerates no failures).
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

TERMINATING = ("preempt", "lose_node", "delete")
"""Disruptions after which the pod exists for a while, so that it cannot be replaced at once."""


@pytest.mark.parametrize(("policy", "code", "fate"), OWN_EXITS)
def test_a_pods_own_exit_is_judged_by_its_restart_policy_and_charged(policy: str, code: int, fate: str) -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart=policy))
    uid = simulation.pod("j-worker-1")["metadata"]["uid"]
    cluster.fail("j-worker-1", code, message="cuda error")
    simulation.settle()
    if fate == "failed":
        assert simulation.is_true("Failed")
        assert simulation.pod("j-worker-1")["metadata"]["uid"] == uid
        assert restart_counts(simulation) == (0, 0)
    else:
        assert simulation.is_true("Running"), "the pod is replaced at once"
        recover(simulation, cluster)
        assert simulation.is_true("Running")
        assert simulation.pod("j-worker-1")["metadata"]["uid"] != uid
        assert restart_counts(simulation) == (1, 0)
    assert simulation.status["failure"]["message"] == "cuda error"
    assert (simulation.status["failure"]["replica"], simulation.status["failure"]["exitCode"]) == ("Worker 1", code)


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always", "ExitCode"])
@pytest.mark.parametrize("event", DISRUPTIONS)
def test_a_disrupted_pod_is_recreated_under_every_policy_and_not_charged(policy: str, event: str) -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart=policy, policy={"backoffLimit": 0}))
    uid = simulation.pod("j-worker-1")["metadata"]["uid"]
    getattr(cluster, event)("j-worker-1")
    simulation.settle()
    assert simulation.is_true("Restarting" if event in TERMINATING else "Running")
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert simulation.pod("j-worker-1")["metadata"]["uid"] != uid
    assert restart_counts(simulation) == (0, 1)
    assert "failure" not in simulation.status
    assert simulation.status["lastFailure"]["disruption"]


@pytest.mark.parametrize("kind", ["TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"])
def test_a_running_pod_deleted_by_hand_fails_no_kind_of_job(kind: str) -> None:
    roles: dict[str, Manifest] = {
        "TFJob": {"Worker": 2},
        "JAXJob": {"Worker": 2},
        "PaddleJob": {"Worker": 2},
        "MPIJob": {"Launcher": 1, "Worker": 1},
    }
    job = manifests.job(kind, restart="Never", **roles.get(kind, {"Master": 1, "Worker": 1}))
    simulation, cluster = started(job)
    victim = own_pods(simulation)[-1]
    cluster.delete(victim)
    simulation.settle()
    assert simulation.is_true("Restarting")
    cluster.stop_containers(victim)
    simulation.settle()
    assert not simulation.is_true("Failed")
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 1)


def test_an_eviction_that_the_pod_caused_itself_is_its_own_exit() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="Never"))
    cluster.evict_for_its_own_fault("j-worker-0")
    for status in simulation.pod("j-worker-0")["status"]["containerStatuses"]:
        status["state"]["terminated"]["message"] = "Error on reading termination message from logs: no such file or directory"
    simulation.settle()
    assert simulation.is_true("Failed")
    assert simulation.status["failure"]["message"].startswith('Usage of EmptyDir volume "cache"')


def test_a_pod_that_failed_before_it_was_deleted_has_failed() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="Never"))
    pod = simulation.pod("j-worker-0")
    cluster.fail("j-worker-0")
    cluster.pass_time(5)
    pod["metadata"]["finalizers"] = ["example.com/keep"]
    pod["metadata"].update(deletionTimestamp="2026-01-01T12:01:00Z", deletionGracePeriodSeconds=0)
    simulation.settle()
    assert simulation.is_true("Failed")


def test_under_exit_code_a_failed_pod_without_container_status_is_restarted() -> None:
    simulation, cluster = started(manifests.job("TFJob", Worker=2, PS=1, restart="ExitCode"))
    cluster.fail("j-worker-1")
    simulation.pod("j-worker-1")["status"]["containerStatuses"] = []
    simulation.settle()
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (1, 0)


def test_of_losses_seen_together_only_the_first_counts() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=3, restart="ExitCode"))
    cluster.fail("j-worker-2", 137)
    cluster.pass_time(1)
    for victim in ("j-master-0", "j-worker-0", "j-worker-1"):
        cluster.fail(victim, 1)
    simulation.settle()
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (1, 0)
    assert simulation.status["failure"]["replica"] == "Worker 2"
    assert "lastFailure" not in simulation.status


def test_losses_before_all_replicas_have_run_again_are_secondary_to_the_first() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.preempt("j-worker-1")
    simulation.settle()
    cluster.pass_time(3)
    cluster.fail("j-worker-0", 1)
    simulation.settle()
    assert not simulation.is_true("Failed")
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 1)


def test_a_deletion_comes_before_what_it_causes_though_its_grace_ends_later() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.delete("j-worker-1", grace=300)
    cluster.pass_time(2)
    cluster.fail("j-worker-0", 1)
    simulation.settle()
    assert not simulation.is_true("Failed")


def test_a_pod_that_ends_after_its_deletion_was_disrupted_even_if_the_deletion_was_not_observed() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="Never"))
    cluster.delete("j-worker-0")
    cluster.pass_time(2)
    cluster.stop_containers("j-worker-0")
    simulation.settle()
    assert not simulation.is_true("Failed")
    assert restart_counts(simulation) == (0, 1)


def test_a_pod_that_vanished_comes_before_what_its_going_caused() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.vanish("j-worker-1")
    cluster.pass_time(2)
    cluster.fail("j-worker-0", 1)
    cluster.pass_time(2)
    simulation.settle()
    assert not simulation.is_true("Failed")
    assert restart_counts(simulation) == (0, 1)


def test_a_failed_pod_of_the_new_attempt_is_not_secondary_to_the_old() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.evict("j-worker-1")
    simulation.settle()
    cluster.pass_time(2)
    cluster.run("j-worker-1")
    cluster.pass_time(2)
    cluster.fail("j-worker-1", 1)
    cluster.find_no_node("j-worker-1")
    simulation.settle()
    assert simulation.is_true("Failed")


def test_the_operators_clock_may_go_wrong_without_hiding_failures() -> None:
    """The API server sets creation timestamps; an operator with a fast clock must not mistake new pods for old ones."""
    job = manifests.job("PyTorchJob", Worker=1, restart="OnFailure", policy={"backoffLimit": 2})
    simulation, cluster = started(job)
    fast = 3600.0
    for _ in range(3):
        cluster.fail("j-worker-0", 1)
        cluster.pass_time(fast)
        simulation.execute(simulation.plan())
        cluster.pass_time(-fast)
        for _ in range(3):
            cluster.pass_time(400)
            simulation.settle()
            cluster.run_all()
    assert simulation.is_true("Failed")
    assert simulation.status["endedBy"] == "BackoffLimit"


def test_a_failure_is_charged_once_though_the_operator_is_killed_between_any_two_steps() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="OnFailure"))
    cluster.fail("j-worker-0")
    for _ in range(3):
        plan = simulation.plan()
        if plan.status is not None:
            simulation.execute(type(plan)(status=plan.status))
        simulation.restart_operator()
    recover(simulation, cluster)
    assert restart_counts(simulation) == (1, 0)


def test_a_failed_pod_whose_replica_comes_and_goes_is_charged_once() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="OnFailure"))
    pod = simulation.pod("j-worker-1")
    pod["metadata"].update(finalizers=["example.com/keep"], deletionTimestamp="2026-01-01T13:00:00Z")
    cluster.fail("j-worker-1")
    simulation.settle()
    before = restart_counts(simulation)
    for replicas in (1, 2):
        cluster.scale("Worker", replicas)
        simulation.settle()
        simulation.restart_operator()
    simulation.settle()
    assert restart_counts(simulation) == before


@pytest.mark.parametrize("restarted", [False, True], ids=["same operator", "operator restarted"])
def test_pods_that_the_operator_sends_away_itself_are_no_losses(restarted: bool) -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2, restart="Never"))
    cluster.scale("Worker", 1)
    simulation.settle()
    if restarted:
        simulation.restart_operator()
    cluster.scale("Worker", 2)
    simulation.settle()
    cluster.stop_containers("j-worker-1")
    simulation.settle()
    assert simulation.is_true("Running")
    recover(simulation, cluster)
    assert restart_counts(simulation) == (0, 0)
    assert own_pods(simulation) == ["j-master-0", "j-worker-0", "j-worker-1"]


def test_restarts_inside_pods_and_restarts_of_pods_add_up_to_the_limit() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1, restart="OnFailure", policy={"backoffLimit": 3})
    simulation, cluster = started(job)
    cluster.restart_container("j-worker-0")
    simulation.settle()
    cluster.fail("j-worker-0")
    simulation.settle()
    assert not simulation.is_true("Failed")
    assert restart_counts(simulation) == (2, 0)
    recover(simulation, cluster)
    cluster.restart_container("j-master-0")
    simulation.settle()
    assert simulation.is_true("Failed")
    assert simulation.condition("Failed")["message"] == "Job j has failed because it has reached the specified backoff limit"  # type: ignore[index]
    assert own_pods(simulation) == [] or all("deletionTimestamp" in pod["metadata"] for pod in simulation.of("pods"))


def test_a_pod_that_leaves_is_not_counted_twice_against_the_limit() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1, restart="OnFailure", policy={"backoffLimit": 2})
    simulation, cluster = started(job)
    cluster.restart_container("j-worker-0")
    cluster.preempt("j-worker-0")
    simulation.settle()
    assert not simulation.is_true("Failed")
    assert restart_counts(simulation) == (1, 1)


@pytest.mark.parametrize(("limit", "attempts"), [(0, 1), (1, 2), (2, 3), (3, 4)])
@pytest.mark.parametrize("policy", ["OnFailure", "ExitCode"])
def test_the_backoff_limit_is_the_number_of_pods_that_the_operator_replaces(policy: str, limit: int, attempts: int) -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Worker=1, restart=policy, policy={"backoffLimit": limit}))
    for attempt in range(1, attempts + 1):
        assert simulation.is_true("Running")
        cluster.fail("j-worker-0", 137)
        simulation.settle()
        assert simulation.is_true("Failed") == (attempt == attempts)
        recover(simulation, cluster)
    assert simulation.status["endedBy"] == "BackoffLimit"
    assert restart_counts(simulation) == (limit, 0)


def test_restarts_of_containers_are_kept_in_the_status_when_the_limit_ends_the_job() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1, restart="OnFailure", policy={"backoffLimit": 2})
    simulation, cluster = started(job)
    for name in ("j-worker-0", "j-master-0"):
        cluster.restart_container(name)
        simulation.settle()
    assert simulation.status["endedBy"] == "BackoffLimit"
    assert restart_counts(simulation) == (2, 0)


def test_delays_grow_with_losses_in_a_row_and_are_reset_after_ten_minutes() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Worker=1, restart="OnFailure"))
    delays = []
    for _ in range(7):
        cluster.fail("j-worker-0")
        plan = simulation.settle()
        delays.append((plan.requeue_at - simulation.now).total_seconds() if not simulation.of("pods") and plan.requeue_at else 0)
        recover(simulation, cluster)
    assert delays[0] == 0
    assert [round(delay + 0.5) for delay in delays[1:]] == [10, 20, 40, 80, 160, 300]
    cluster.pass_time(601 + 300)
    cluster.fail("j-worker-0")
    simulation.settle()
    assert own_pods(simulation) == ["j-worker-0"]


def test_worker_failures_that_a_kind_tolerates_are_left_alone_and_reported() -> None:
    job = manifests.job("TFJob", Worker=3, PS=1, restart="Never", spec={"enableDynamicWorker": True})
    simulation, cluster = started(job)
    cluster.fail("j-worker-2", message="out of data")
    simulation.settle()
    assert simulation.is_true("Running")
    assert not simulation.is_true("Restarting")
    assert simulation.pod("j-worker-2")["status"]["phase"] == "Failed"
    assert restart_counts(simulation) == (0, 0)
    assert simulation.status["failure"]["message"] == "out of data"
    assert simulation.status["why"]["reason"] == "ReplicaFailed"
    cluster.preempt("j-worker-1")
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert not simulation.status["restarts"].get("open")


@max_examples(100)
@hypothesis.given(job=strategies.valid_jobs(), data=st.data())
def test_however_a_job_is_disrupted_it_never_fails_and_nothing_is_charged(job: Manifest, data: st.DataObject) -> None:
    job["spec"]["runPolicy"] = {"backoffLimit": 0}
    simulation, cluster = started(job)
    for _ in range(data.draw(st.integers(1, 4))):
        names = [name for name in own_pods(simulation) if simulation.pod(name)["status"]["phase"] in ("Running", "Pending")]
        for name in data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []:
            getattr(cluster, data.draw(st.sampled_from(DISRUPTIONS)))(name)
            if data.draw(st.booleans()):
                simulation.settle()
            if data.draw(st.booleans()):
                simulation.restart_operator()
        recover(simulation, cluster)
        assert not simulation.is_true("Failed")
        assert restart_counts(simulation)[0] == 0
        assert len(own_pods(simulation)) == sum(1 for _ in _expected(simulation))


def _expected(simulation: Simulation) -> list[str]:
    job = simulation.kind.following(simulation.stored).job(simulation.stored)
    delegated = {role.name for role in simulation.kind.following(simulation.stored).roles if role.delegated}
    return [role for role in job.roles if role not in delegated for _ in range(job.count(role))]


@max_examples(100)
@hypothesis.given(
    kind=st.sampled_from(["PyTorchJob", "TFJob", "PaddleJob", "JAXJob", "MPIJob"]),
    events=st.lists(st.sampled_from(["fail", "restart_container", *DISRUPTIONS]), max_size=6),
    data=st.data(),
)
def test_each_failure_is_charged_once_and_each_disruption_counted_once(kind: str, events: list[str], data: st.DataObject) -> None:
    roles: Manifest = {"PyTorchJob": {"Master": 1, "Worker": 2}, "MPIJob": {"Launcher": 1, "Worker": 2}}.get(kind, {"Worker": 3})
    simulation, cluster = started(manifests.job(kind, restart="OnFailure", **roles))
    charged = disruptions = inside = 0
    for event in events:
        cluster.pass_time(settings.Planning.node_loss_grace + 1)  # else a failure belongs to the disruption before it
        name = data.draw(st.sampled_from(own_pods(simulation)))
        lived = sum(status.get("restartCount", 0) for status in simulation.pod(name)["status"]["containerStatuses"])
        getattr(cluster, event)(name)
        if event == "restart_container":
            inside += 1
        else:
            # A kubelet that does not admit a pod reports no containers.
            charged += lived if event != "refuse_at_node" else 0
            charged, disruptions = (charged + 1, disruptions) if event == "fail" else (charged, disruptions + 1)
        simulation.settle()
        recover(simulation, cluster)
        assert restart_counts(simulation) == (charged, disruptions)
        assert simulation.is_true("Running")
