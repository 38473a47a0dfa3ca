"""Scale-down of an elastic job: surplus workers leave the host list first, and their pods are deleted after the drain."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.cluster_events import ClusterEvents
from tests.planner.manifests import Manifest
from tests.planner.scenarios import own_pods, started
from tests.planner.simulation import Simulation

from traincrew.model.elastic_allocation import GAVE_BACK, NOTICED, Allocation, Removal

MARK = "traincrew.kubeflow.org/leaving-since"
COMMAND = ["horovodrun", "-np", "2", "--min-np", "1", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"]


def elastic(command: list[str], workers: int = 3) -> Manifest:
    job = manifests.job("MPIJob", Launcher=1, Worker=workers)
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = command
    return job


@pytest.fixture
def shrunk() -> tuple[Simulation, ClusterEvents]:
    simulation, cluster = started(elastic(COMMAND))
    cluster.scale("Worker", 1)
    simulation.settle()
    return simulation, cluster


def hosts(simulation: Simulation) -> str:
    return str(simulation.get("configmaps", "j-config")["data"]["discover_hosts.sh"])


def test_workers_that_have_to_go_are_off_the_list_but_go_on_for_a_while(shrunk: tuple[Simulation, ClusterEvents]) -> None:
    simulation, cluster = shrunk
    assert "j-worker-0" in hosts(simulation)
    assert "j-worker-1" not in hosts(simulation)
    assert {"j-worker-1", "j-worker-2"} <= set(own_pods(simulation))
    assert MARK in simulation.pod("j-worker-2")["metadata"]["annotations"]
    cluster.pass_time(29)
    simulation.settle()
    assert {"j-worker-1", "j-worker-2"} <= set(own_pods(simulation))
    cluster.pass_time(2)
    simulation.settle()
    cluster.finish_deletions()
    assert {"j-worker-1", "j-worker-2"}.isdisjoint(own_pods(simulation))


def exec_rights(simulation: Simulation) -> list[str]:
    rules = simulation.get("roles", "j-launcher")["rules"]
    return [name for rule in rules if rule["resources"] == ["pods/exec"] for name in rule["resourceNames"]]


def test_the_launcher_may_exec_into_workers_until_their_pods_are_gone(shrunk: tuple[Simulation, ClusterEvents]) -> None:
    simulation, cluster = shrunk
    assert exec_rights(simulation) == ["j-worker-0", "j-worker-1", "j-worker-2"]
    cluster.pass_time(31)
    simulation.settle()
    assert exec_rights(simulation) == ["j-worker-0", "j-worker-1", "j-worker-2"], "their pods are still terminating"
    cluster.finish_deletions()
    simulation.settle()
    assert exec_rights(simulation) == ["j-worker-0"]


def test_a_launcher_without_workers_has_no_right_to_exec(shrunk: tuple[Simulation, ClusterEvents]) -> None:
    simulation, cluster = shrunk
    cluster.scale("Worker", 0)
    simulation.settle()
    assert exec_rights(simulation) == ["j-worker-0", "j-worker-1", "j-worker-2"]
    cluster.pass_time(31)
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    assert exec_rights(simulation) == []


def test_a_plan_says_when_their_time_is_up(shrunk: tuple[Simulation, ClusterEvents]) -> None:
    simulation, _ = shrunk
    assert simulation.plan().requeue_at is not None


def test_an_operator_that_takes_over_goes_on_counting(shrunk: tuple[Simulation, ClusterEvents]) -> None:
    simulation, cluster = shrunk
    cluster.pass_time(20)
    simulation.restart_operator()
    simulation.settle()
    cluster.pass_time(11)
    simulation.settle()
    cluster.finish_deletions()
    assert {"j-worker-1", "j-worker-2"}.isdisjoint(own_pods(simulation))


def test_a_worker_that_is_wanted_again_stays(shrunk: tuple[Simulation, ClusterEvents]) -> None:
    simulation, cluster = shrunk
    uid = simulation.pod("j-worker-1")["metadata"]["uid"]
    cluster.scale("Worker", 2)
    simulation.settle()
    cluster.pass_time(60)
    simulation.settle()
    assert simulation.pod("j-worker-1")["metadata"]["uid"] == uid
    assert MARK not in simulation.pod("j-worker-1")["metadata"]["annotations"]
    assert "j-worker-1" in hosts(simulation)


def test_one_that_has_ended_needs_no_farewell(shrunk: tuple[Simulation, ClusterEvents]) -> None:
    simulation, cluster = shrunk
    cluster.fail("j-worker-2", 134)
    simulation.settle()
    cluster.finish_deletions()
    assert "j-worker-2" not in own_pods(simulation)
    assert not simulation.is_true("Failed")


@pytest.mark.parametrize("command", [["mpirun", "train"], ["sleep", "1"]])
def test_workers_of_a_launcher_without_host_discovery_are_deleted_at_once(command: list[str]) -> None:
    simulation, cluster = started(elastic(command))
    cluster.scale("Worker", 1)
    simulation.settle()
    cluster.finish_deletions()
    assert {"j-worker-1", "j-worker-2"}.isdisjoint(own_pods(simulation))


def test_a_worker_recreated_after_a_loss_is_marked_and_listed_under_another_name() -> None:
    simulation, cluster = started(elastic(COMMAND, 2))
    assert "traincrew.kubeflow.org/returned" not in simulation.pod("j-worker-1")["metadata"].get("annotations", {})
    cluster.evict("j-worker-1")
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    assert "traincrew.kubeflow.org/returned" in simulation.pod("j-worker-1")["metadata"]["annotations"]
    cluster.run("j-worker-1")
    simulation.settle()
    assert "echo j-worker-0:1" in hosts(simulation)
    assert "echo j-worker-1.again-" in hosts(simulation)


def torchrun(workers: int) -> Manifest:
    return manifests.job("PyTorchJob", Worker=workers, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}})


def services(simulation: Simulation) -> set[str]:
    return {service["metadata"]["name"] for service in simulation.of("services")}


def test_no_worker_of_torchrun_is_deleted_while_the_workers_find_each_other() -> None:
    simulation, cluster = started(torchrun(4))
    cluster.scale("Worker", 1)
    plan = simulation.settle()
    everyone = [f"j-worker-{index}" for index in range(4)]
    assert own_pods(simulation) == everyone
    assert services(simulation) == set(everyone)
    assert plan.requeue_at is not None
    cluster.pass_time(80)
    simulation.settle()
    cluster.finish_deletions()
    assert own_pods(simulation) == ["j-worker-0"]
    assert services(simulation) == {"j-worker-0"}


def test_a_worker_of_torchrun_that_has_not_started_is_deleted_at_once() -> None:
    simulation, cluster = started(torchrun(2))
    cluster.scale("Worker", 4)
    simulation.settle()
    cluster.scale("Worker", 2)
    simulation.settle()
    cluster.finish_deletions()
    assert own_pods(simulation) == ["j-worker-0", "j-worker-1"]


def test_after_a_removal_the_other_workers_of_torchrun_have_time_to_find_each_other() -> None:
    simulation, cluster = started(torchrun(4))
    cluster.pass_time(300)
    cluster.scale("Worker", 3)
    simulation.settle()
    cluster.finish_deletions()
    assert own_pods(simulation) == [f"j-worker-{index}" for index in range(3)]
    cluster.scale("Worker", 1)
    simulation.settle()
    assert own_pods(simulation) == [f"j-worker-{index}" for index in range(3)]
    cluster.pass_time(80)
    simulation.settle()
    cluster.finish_deletions()
    assert own_pods(simulation) == ["j-worker-0"]


@pytest.mark.parametrize(
    ("annotations", "seconds"),
    [
        pytest.param({}, 60, id="all have joined, so there is no last call"),
        pytest.param({"traincrew.kubeflow.org/start-seconds": "15"}, 15, id="the job says how long its processes take"),
    ],
)
def test_workers_of_torchrun_are_deleted_when_their_processes_are_connected(annotations: dict[str, str], seconds: int) -> None:
    job = torchrun(4)
    job["metadata"]["annotations"] = annotations
    simulation, cluster = started(job)
    cluster.scale("Worker", 3)
    cluster.pass_time(seconds - 2)
    simulation.settle()
    assert len(own_pods(simulation)) == 4
    cluster.pass_time(3)
    simulation.settle()
    cluster.finish_deletions()
    assert len(own_pods(simulation)) == 3


@pytest.mark.parametrize(("reason", "left"), [(NOTICED, 3), (GAVE_BACK, 4)])
def test_a_worker_of_torchrun_whose_node_ends_does_not_wait_for_the_rendezvous(reason: str, left: int) -> None:
    job = torchrun(4)
    job["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": "yield"}
    simulation, cluster = started(job)
    uids = {index: simulation.pod(f"j-worker-{index}")["metadata"]["uid"] for index in range(3)}
    simulation.allocation = Allocation(uids, leaving={3: Removal(reason)})
    simulation.settle()
    cluster.finish_deletions()
    assert len(own_pods(simulation)) == left
