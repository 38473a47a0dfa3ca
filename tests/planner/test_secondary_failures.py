"""Secondary failures are not recorded as causes; the loss of the rendezvous host is reported."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.cluster_events import ClusterEvents
from tests.planner.scenarios import recover, started
from tests.planner.simulation import Simulation

ELASTIC = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}
LOST_STORE = "RendezvousConnectionError: The connection to the C10d store has failed."


def elastic(**policy: object) -> tuple[Simulation, ClusterEvents]:
    spec = {"elasticPolicy": {**ELASTIC["elasticPolicy"], **policy}}
    simulation, cluster = started(manifests.job("PyTorchJob", Worker=2, spec=spec))
    cluster.pass_time(60)
    return simulation, cluster


def rendezvous_events(simulation: Simulation) -> list[str]:
    return [message for reason, message in simulation.events if reason == "RendezvousLost"]


def test_the_loss_of_the_rendezvous_host_is_reported_once_and_secondary_failures_are_no_causes() -> None:
    simulation, cluster = elastic()
    cluster.delete("j-worker-0")
    simulation.settle()
    assert simulation.is_true("Restarting")
    cluster.pass_time(2)
    cluster.restart_container("j-worker-1", message=LOST_STORE)
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert "failure" not in simulation.status
    assert (simulation.status["lastFailure"]["pod"], simulation.status["lastFailure"]["disruption"]) == ("j-worker-0", True)
    assert len(rendezvous_events(simulation)) == 1
    assert rendezvous_events(simulation)[0].startswith("j-worker-0 hosts the rendezvous and was lost")


def test_a_late_failure_is_secondary_too() -> None:
    simulation, cluster = elastic()
    cluster.delete("j-worker-0")
    recover(simulation, cluster)
    cluster.pass_time(5)
    cluster.restart_container("j-worker-1", message=LOST_STORE)
    simulation.settle()
    assert "failure" not in simulation.status


def test_a_run_that_met_at_the_new_one_answers_for_itself() -> None:
    simulation, cluster = elastic()
    cluster.delete("j-worker-0")
    recover(simulation, cluster)
    for message in (LOST_STORE, "cuda error"):
        cluster.pass_time(5)
        cluster.restart_container("j-worker-1", message=message)
        simulation.settle()
    assert simulation.status["failure"]["message"] == "cuda error"


def test_a_run_that_waited_for_the_new_one_answers_for_itself_too() -> None:
    simulation, cluster = elastic()
    cluster.delete("j-worker-0")
    simulation.settle()
    cluster.pass_time(1)
    cluster.restart_container("j-worker-1", message=LOST_STORE)
    recover(simulation, cluster)
    assert "failure" not in simulation.status
    cluster.pass_time(600)
    cluster.restart_container("j-worker-1", message="cuda error")
    simulation.settle()
    assert simulation.status["failure"]["message"] == "cuda error"


def test_a_rendezvous_host_that_fails_in_place_is_the_cause_and_reported() -> None:
    simulation, cluster = elastic()
    cluster.restart_container("j-worker-0", 137, "killed")
    simulation.settle()
    cluster.pass_time(2)
    cluster.restart_container("j-worker-1", message=LOST_STORE)
    simulation.settle()
    assert simulation.status["failure"]["pod"] == "j-worker-0"
    assert "lastFailure" not in simulation.status
    assert len(rendezvous_events(simulation)) == 1


def test_who_failed_before_the_rendezvous_host_remains_the_cause() -> None:
    simulation, cluster = elastic()
    cluster.restart_container("j-worker-1", message="cuda error")
    cluster.pass_time(2)
    cluster.restart_container("j-worker-0", message="closed by a peer")
    simulation.settle()
    assert simulation.status["failure"]["message"] == "cuda error"


@pytest.mark.parametrize(
    "policy", [{"rdzvBackend": "etcd-v2", "rdzvHost": "etcd"}, {"rdzvHost": "elsewhere"}, {"standalone": True}]
)
def test_no_worker_hosts_an_external_rendezvous(policy: dict[str, object]) -> None:
    simulation, cluster = elastic(**policy)
    cluster.delete("j-worker-0")
    recover(simulation, cluster)
    assert rendezvous_events(simulation) == []


def test_in_any_job_a_container_failure_before_the_lost_pod_was_replaced_is_secondary() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1))
    cluster.pass_time(60)
    cluster.delete("j-master-0")
    simulation.settle()
    cluster.pass_time(1)
    cluster.restart_container("j-worker-0", message="Connection reset by peer")
    recover(simulation, cluster)
    assert "failure" not in simulation.status
    cluster.pass_time(60)
    cluster.restart_container("j-worker-0", message="out of tears")
    simulation.settle()
    assert simulation.status["failure"]["message"] == "out of tears"
