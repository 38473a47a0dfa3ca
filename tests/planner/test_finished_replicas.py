"""Work that is done is not done again, though its pod be swept up: nodes are scaled away, old pods are collected."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.stories import own_pods, posted, recover, started


@pytest.mark.parametrize("seen", [True, False], ids=["seen before it went", "seen only by the watch"])
def test_a_replica_that_has_succeeded_is_not_run_again_when_its_pod_goes(seen: bool) -> None:
    world, cluster = started(manifests.job("JAXJob", Worker=3))
    cluster.succeed("j-worker-1")
    if seen:
        world.settle()
        world.restart_operator()
    cluster.vanish("j-worker-1")
    world.settle()
    assert own_pods(world) == ["j-worker-0", "j-worker-2"]
    assert world.status["replicaStatuses"]["Worker"]["succeeded"] == 1
    assert world.status.get("restarts", {}).get("disruptions", 0) == 0
    cluster.succeed("j-worker-0")
    cluster.succeed("j-worker-2")
    world.settle()
    assert world.is_true("Succeeded")


def test_a_tensorflow_job_succeeds_by_a_worker_0_that_is_gone() -> None:
    world, cluster = started(manifests.job("TFJob", Worker=2, spec={"successPolicy": "AllWorkers"}))
    cluster.succeed("j-worker-0")
    world.settle()
    cluster.vanish("j-worker-0")
    cluster.succeed("j-worker-1")
    world.settle()
    assert world.is_true("Succeeded")


def test_another_replicas_restart_leaves_it_done() -> None:
    world, cluster = started(manifests.job("JAXJob", Worker=2, restart="OnFailure"))
    cluster.succeed("j-worker-0")
    world.settle()
    cluster.vanish("j-worker-0")
    cluster.fail("j-worker-1")
    recover(world, cluster)
    assert own_pods(world) == ["j-worker-1"]
    assert world.is_true("Running")
    assert not world.status["restarts"].get("open")


def test_a_replica_scaled_away_and_back_begins_anew() -> None:
    world, cluster = started(manifests.job("JAXJob", Worker=2))
    cluster.succeed("j-worker-1")
    world.settle()
    for replicas in (1, 2):
        cluster.scale("Worker", replicas)
        world.settle()
    assert world.pod("j-worker-1")["status"]["phase"] == "Pending"


def test_scaling_down_removes_the_highest_and_scaling_up_makes_only_the_missing() -> None:
    world, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2))
    before = {name: world.pod(name)["metadata"]["uid"] for name in own_pods(world)}
    cluster.scale("Worker", 3)
    world.settle()
    assert own_pods(world) == ["j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"]
    assert all(world.pod(name)["metadata"]["uid"] == uid for name, uid in before.items())
    assert world.is_true("Running")
    cluster.run_all()
    cluster.scale("Worker", 1)
    world.settle()
    cluster.finish_deletions()
    world.settle()
    assert own_pods(world) == ["j-master-0", "j-worker-0"]
    assert world.names("services") == ["j-master-0", "j-worker-0"]
    assert world.is_true("Running")


def test_pods_of_a_role_that_was_removed_go() -> None:
    world, cluster = started(manifests.job("TFJob", Chief=1, PS=1, Worker=1))
    assert world.job is not None
    del world.job["spec"]["tfReplicaSpecs"]["PS"]
    world.settle()
    cluster.finish_deletions()
    world.settle()
    assert own_pods(world) == ["j-chief-0", "j-worker-0"]
    assert world.names("services") == ["j-chief-0", "j-worker-0"]


@pytest.mark.parametrize("replicas", [0, -1])
def test_no_replicas_means_no_pod(replicas: int) -> None:
    world, _ = posted(manifests.job("TFJob", Worker=replicas, PS=1))
    assert own_pods(world) == ["j-ps-0"]
    assert world.plan().empty
