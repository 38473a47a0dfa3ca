"""Replicas that succeeded are not run again if their pods are deleted, for example with their nodes."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.scenarios import own_pods, posted, recover, started


@pytest.mark.parametrize("seen", [True, False], ids=["seen before it went", "seen only by the watch"])
def test_a_replica_that_has_succeeded_is_not_run_again_when_its_pod_goes(seen: bool) -> None:
    simulation, cluster = started(manifests.job("JAXJob", Worker=3))
    cluster.succeed("j-worker-1")
    if seen:
        simulation.settle()
        simulation.restart_operator()
    cluster.vanish("j-worker-1")
    simulation.settle()
    assert own_pods(simulation) == ["j-worker-0", "j-worker-2"]
    assert simulation.status["replicaStatuses"]["Worker"]["succeeded"] == 1
    assert simulation.status.get("restarts", {}).get("disruptions", 0) == 0
    cluster.succeed("j-worker-0")
    cluster.succeed("j-worker-2")
    simulation.settle()
    assert simulation.is_true("Succeeded")


def test_a_tensorflow_job_succeeds_by_a_worker_0_that_is_gone() -> None:
    simulation, cluster = started(manifests.job("TFJob", Worker=2, spec={"successPolicy": "AllWorkers"}))
    cluster.succeed("j-worker-0")
    simulation.settle()
    cluster.vanish("j-worker-0")
    cluster.succeed("j-worker-1")
    simulation.settle()
    assert simulation.is_true("Succeeded")


def test_another_replicas_restart_leaves_it_done() -> None:
    simulation, cluster = started(manifests.job("JAXJob", Worker=2, restart="OnFailure"))
    cluster.succeed("j-worker-0")
    simulation.settle()
    cluster.vanish("j-worker-0")
    cluster.fail("j-worker-1")
    recover(simulation, cluster)
    assert own_pods(simulation) == ["j-worker-1"]
    assert simulation.is_true("Running")
    assert not simulation.status["restarts"].get("open")


def test_a_replica_scaled_away_and_back_begins_again() -> None:
    simulation, cluster = started(manifests.job("JAXJob", Worker=2))
    cluster.succeed("j-worker-1")
    simulation.settle()
    for replicas in (1, 2):
        cluster.scale("Worker", replicas)
        simulation.settle()
    assert simulation.pod("j-worker-1")["status"]["phase"] == "Pending"


def test_scaling_down_removes_the_highest_and_scaling_up_creates_only_the_missing() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2))
    before = {name: simulation.pod(name)["metadata"]["uid"] for name in own_pods(simulation)}
    assert len(before) == 3
    cluster.scale("Worker", 3)
    simulation.settle()
    assert own_pods(simulation) == ["j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"]
    assert all(simulation.pod(name)["metadata"]["uid"] == uid for name, uid in before.items())
    assert simulation.is_true("Running")
    cluster.run_all()
    cluster.scale("Worker", 1)
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    assert own_pods(simulation) == ["j-master-0", "j-worker-0"]
    assert simulation.names("services") == ["j-master-0", "j-worker-0"]
    assert simulation.is_true("Running")


def test_pods_of_a_role_that_was_removed_go() -> None:
    simulation, cluster = started(manifests.job("TFJob", Chief=1, PS=1, Worker=1))
    assert simulation.job is not None
    del simulation.job["spec"]["tfReplicaSpecs"]["PS"]
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    assert own_pods(simulation) == ["j-chief-0", "j-worker-0"]
    assert simulation.names("services") == ["j-chief-0", "j-worker-0"]


@pytest.mark.parametrize("replicas", [0, -1])
def test_no_replicas_means_no_pod(replicas: int) -> None:
    simulation, _ = posted(manifests.job("TFJob", Worker=replicas, PS=1))
    assert own_pods(simulation) == ["j-ps-0"]
    assert simulation.plan().empty
