"""Who fails because another was lost is no cause; who was lost is told, above all the replica at which the others meet."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.cluster import Cluster
from tests.planner.stories import recover, started
from tests.planner.world import World

ELASTIC = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}
LOST_STORE = "RendezvousConnectionError: The connection to the C10d store has failed."


def elastic(**policy: object) -> tuple[World, Cluster]:
    spec = {"elasticPolicy": {**ELASTIC["elasticPolicy"], **policy}}
    world, cluster = started(manifests.job("PyTorchJob", Worker=2, spec=spec))
    cluster.pass_time(60)
    return world, cluster


def told(world: World) -> list[str]:
    return [message for reason, message in world.events if reason == "RendezvousLost"]


def test_the_loss_of_the_meeting_point_is_told_once_and_its_victims_are_no_causes() -> None:
    world, cluster = elastic()
    cluster.delete("j-worker-0")
    world.settle()
    assert world.is_true("Restarting")
    cluster.pass_time(2)
    cluster.restart_container("j-worker-1", message=LOST_STORE)
    recover(world, cluster)
    assert world.is_true("Running")
    assert "failure" not in world.status
    assert (world.status["lastFailure"]["pod"], world.status["lastFailure"]["disruption"]) == ("j-worker-0", True)
    assert len(told(world)) == 1
    assert told(world)[0].startswith("j-worker-0 hosts the rendezvous and was lost")


def test_a_victim_that_notices_late_is_one_all_the_same() -> None:
    world, cluster = elastic()
    cluster.delete("j-worker-0")
    recover(world, cluster)
    cluster.pass_time(5)
    cluster.restart_container("j-worker-1", message=LOST_STORE)
    world.settle()
    assert "failure" not in world.status


def test_a_run_that_met_at_the_new_one_answers_for_itself() -> None:
    world, cluster = elastic()
    cluster.delete("j-worker-0")
    recover(world, cluster)
    for message in (LOST_STORE, "cuda error"):
        cluster.pass_time(5)
        cluster.restart_container("j-worker-1", message=message)
        world.settle()
    assert world.status["failure"]["message"] == "cuda error"


def test_a_run_that_waited_for_the_new_one_answers_for_itself_too() -> None:
    world, cluster = elastic()
    cluster.delete("j-worker-0")
    world.settle()
    cluster.pass_time(1)
    cluster.restart_container("j-worker-1", message=LOST_STORE)
    recover(world, cluster)
    assert "failure" not in world.status
    cluster.pass_time(600)
    cluster.restart_container("j-worker-1", message="cuda error")
    world.settle()
    assert world.status["failure"]["message"] == "cuda error"


def test_a_meeting_point_that_fails_in_place_is_the_cause_and_told() -> None:
    world, cluster = elastic()
    cluster.restart_container("j-worker-0", 137, "killed")
    world.settle()
    cluster.pass_time(2)
    cluster.restart_container("j-worker-1", message=LOST_STORE)
    world.settle()
    assert world.status["failure"]["pod"] == "j-worker-0"
    assert "lastFailure" not in world.status or world.status["lastFailure"]["pod"] == "j-worker-0"
    assert len(told(world)) == 1


def test_who_failed_before_the_meeting_point_remains_the_cause() -> None:
    world, cluster = elastic()
    cluster.restart_container("j-worker-1", message="cuda error")
    cluster.pass_time(2)
    cluster.restart_container("j-worker-0", message="closed by a peer")
    world.settle()
    assert world.status["failure"]["message"] == "cuda error"


@pytest.mark.parametrize(
    "policy", [{"rdzvBackend": "etcd-v2", "rdzvHost": "etcd"}, {"rdzvHost": "elsewhere"}, {"standalone": True}]
)
def test_where_the_meeting_point_is_elsewhere_no_worker_is_one(policy: dict[str, object]) -> None:
    world, cluster = elastic(**policy)
    cluster.delete("j-worker-0")
    recover(world, cluster)
    assert told(world) == []


def test_in_any_job_what_failed_in_place_before_the_lost_one_was_replaced_is_a_victim() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1))
    cluster.pass_time(60)
    cluster.delete("j-master-0")
    world.settle()
    cluster.pass_time(1)
    cluster.restart_container("j-worker-0", message="Connection reset by peer")
    recover(world, cluster)
    assert "failure" not in world.status
    cluster.pass_time(60)
    cluster.restart_container("j-worker-0", message="out of tears")
    world.settle()
    assert world.status["failure"]["message"] == "out of tears"
