"""Scaling an elastic job down: who has to go leaves the list first, and is given time to leave the ring."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.cluster import Cluster
from tests.planner.manifests import Manifest
from tests.planner.stories import own_pods, started
from tests.planner.world import World

MARK = "traincrew.kubeflow.org/leaving-since"
COMMAND = ["horovodrun", "-np", "2", "--min-np", "1", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"]


def elastic(command: list[str], workers: int = 3) -> Manifest:
    job = manifests.job("MPIJob", Launcher=1, Worker=workers)
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = command
    return job


@pytest.fixture
def shrunk() -> tuple[World, Cluster]:
    world, cluster = started(elastic(COMMAND))
    cluster.scale("Worker", 1)
    world.settle()
    return world, cluster


def hosts(world: World) -> str:
    return str(world.get("configmaps", "j-config")["data"]["discover_hosts.sh"])


def test_workers_that_have_to_go_are_off_the_list_but_go_on_for_a_while(shrunk: tuple[World, Cluster]) -> None:
    world, cluster = shrunk
    assert "j-worker-0" in hosts(world)
    assert "j-worker-1" not in hosts(world)
    assert {"j-worker-1", "j-worker-2"} <= set(own_pods(world))
    assert MARK in world.pod("j-worker-2")["metadata"]["annotations"]
    cluster.pass_time(29)
    world.settle()
    assert {"j-worker-1", "j-worker-2"} <= set(own_pods(world))
    cluster.pass_time(2)
    world.settle()
    cluster.finish_deletions()
    assert {"j-worker-1", "j-worker-2"}.isdisjoint(own_pods(world))


def test_a_plan_says_when_their_time_is_up(shrunk: tuple[World, Cluster]) -> None:
    world, _ = shrunk
    assert world.plan().requeue_at is not None


def test_an_operator_that_takes_over_goes_on_counting(shrunk: tuple[World, Cluster]) -> None:
    world, cluster = shrunk
    cluster.pass_time(20)
    world.restart_operator()
    world.settle()
    cluster.pass_time(11)
    world.settle()
    cluster.finish_deletions()
    assert {"j-worker-1", "j-worker-2"}.isdisjoint(own_pods(world))


def test_a_worker_that_is_wanted_again_stays(shrunk: tuple[World, Cluster]) -> None:
    world, cluster = shrunk
    uid = world.pod("j-worker-1")["metadata"]["uid"]
    cluster.scale("Worker", 2)
    world.settle()
    cluster.pass_time(60)
    world.settle()
    assert world.pod("j-worker-1")["metadata"]["uid"] == uid
    assert MARK not in world.pod("j-worker-1")["metadata"]["annotations"]
    assert "j-worker-1" in hosts(world)


def test_one_that_has_ended_needs_no_farewell(shrunk: tuple[World, Cluster]) -> None:
    world, cluster = shrunk
    cluster.fail("j-worker-2", 134)
    world.settle()
    cluster.finish_deletions()
    assert "j-worker-2" not in own_pods(world)
    assert not world.is_true("Failed")


@pytest.mark.parametrize("command", [["mpirun", "train"], ["sleep", "1"]])
def test_a_launcher_that_does_not_ask_for_hosts_misses_nobody(command: list[str]) -> None:
    world, cluster = started(elastic(command))
    cluster.scale("Worker", 1)
    world.settle()
    cluster.finish_deletions()
    assert {"j-worker-1", "j-worker-2"}.isdisjoint(own_pods(world))


def test_a_worker_made_again_after_a_loss_is_marked_and_listed_under_another_name() -> None:
    world, cluster = started(elastic(COMMAND, 2))
    assert "traincrew.kubeflow.org/returned" not in world.pod("j-worker-1")["metadata"].get("annotations", {})
    cluster.evict("j-worker-1")
    world.settle()
    cluster.finish_deletions()
    world.settle()
    assert "traincrew.kubeflow.org/returned" in world.pod("j-worker-1")["metadata"]["annotations"]
    cluster.run("j-worker-1")
    world.settle()
    assert "echo j-worker-0:1" in hosts(world)
    assert "echo j-worker-1.again-" in hosts(world)
