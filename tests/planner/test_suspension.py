"""Suspending and resuming, by users and by queueing systems."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.manifests import Manifest
from tests.planner.scenarios import own_pods, posted, recover, restart_counts, started

WAITS = {"launcherCreationPolicy": "WaitForWorkersReady"}


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(manifests.job("PyTorchJob", Worker=2, policy={"suspend": True}), id="PyTorchJob"),
        pytest.param(manifests.job("MPIJob", Launcher=1, Worker=2, policy={"suspend": True}), id="MPIJob v1"),
    ],
)
def test_a_job_posted_suspended_creates_nothing(job: Manifest) -> None:
    simulation, _ = posted(job)
    assert [entry["type"] for entry in simulation.status["conditions"]] == ["Created", "Suspended"]
    assert simulation.objects == {}
    assert "startTime" not in simulation.status


def test_suspending_a_running_job_removes_its_pods_and_resuming_brings_them_back() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=2))
    begun = simulation.status["startTime"]
    cluster.edit(suspend=True)
    simulation.settle()
    cluster.finish_deletions()
    simulation.settle()
    assert own_pods(simulation) == []
    assert simulation.names("services") == []
    running = simulation.condition("Running")
    assert running is not None
    assert (running["status"], running["reason"]) == ("False", "PyTorchJobSuspended")
    assert set(simulation.status["replicaStatuses"]) == {"Master", "Worker"}
    assert all("active" not in counts for counts in simulation.status["replicaStatuses"].values())
    cluster.pass_time(100)
    cluster.edit(suspend=False)
    simulation.settle()
    resumed = simulation.condition("Suspended")
    assert resumed is not None
    assert (resumed["status"], resumed["reason"], resumed["message"]) == (
        "False",
        "PyTorchJobResumed",
        "PyTorchJob j is resumed.",
    )
    assert simulation.status["startTime"] > begun
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 0)
    assert [reason for reason, _ in simulation.events].count("PyTorchJobSuspended") == 1


@pytest.mark.parametrize("restarted", [False, True], ids=["same operator", "operator restarted"])
def test_pods_still_leaving_at_the_resume_are_no_losses(restarted: bool) -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="Never"))
    cluster.edit(suspend=True)
    simulation.settle()
    if restarted:
        simulation.restart_operator()
    cluster.edit(suspend=False)
    simulation.settle()
    cluster.stop_containers("j-worker-0")
    simulation.settle()
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    assert restart_counts(simulation) == (0, 0)


def test_a_job_that_was_restarting_is_suspended_and_nothing_else() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Worker=1))
    cluster.delete("j-worker-0")
    simulation.settle()
    assert simulation.is_true("Restarting")
    cluster.edit(suspend=True)
    simulation.settle()
    assert simulation.condition("Restarting") is None
    assert simulation.is_true("Suspended")


def test_suspending_a_finished_job_changes_nothing() -> None:
    simulation, cluster = started(manifests.job("JAXJob", Worker=1))
    cluster.succeed("j-worker-0")
    simulation.settle()
    cluster.edit(suspend=True)
    assert simulation.plan().empty


def test_work_done_before_a_suspension_is_done_again() -> None:
    simulation, cluster = started(manifests.job("JAXJob", Worker=2))
    cluster.succeed("j-worker-0")
    simulation.settle()
    assert simulation.status["replicaStatuses"]["Worker"]["completedIndexes"] == "0"
    cluster.edit(suspend=True)
    simulation.settle()
    cluster.finish_deletions()
    cluster.edit(suspend=False)
    recover(simulation, cluster)
    assert own_pods(simulation) == ["j-worker-0", "j-worker-1"]
    assert not simulation.is_true("Succeeded")


def test_a_v2beta1_launcher_is_suspended_with_the_job_and_the_rest_stays() -> None:
    simulation, cluster = started(manifests.ssh_job(Launcher=1, Worker=2))
    assert simulation.is_true("Running")
    cluster.edit(suspend=True)
    simulation.settle()
    cluster.launch()
    cluster.finish_deletions()
    simulation.settle()
    assert simulation.get("jobs", "j-launcher")["spec"]["suspend"] is True
    assert simulation.of("pods") == []
    assert simulation.names("services") == ["j"]
    assert simulation.names("configmaps") == ["j-config"]
    reasons = {entry["type"]: (entry["status"], entry["reason"]) for entry in simulation.status["conditions"]}
    assert reasons["Suspended"] == ("True", "MPIJobSuspended")
    assert reasons["Running"] == ("False", "MPIJobSuspended")


def test_a_v2beta1_launchers_start_is_forgotten_before_its_scheduling_changes() -> None:
    """The API server rejects a change of the node selector while the suspended Job has a start time."""
    simulation, cluster = started(manifests.ssh_job(Launcher=1, Worker=1))
    cluster.edit(suspend=True)
    simulation.settle()
    cluster.launch()
    cluster.finish_deletions()
    simulation.settle()
    assert simulation.job is not None
    template = simulation.job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
    template["spec"]["nodeSelector"] = {"pool": "a"}
    cluster.edit(suspend=False)
    stages = simulation.plan().stages
    first, second = stages[0][0], stages[1][0]
    assert getattr(first, "subresource", "") == "status"
    assert getattr(second, "body", {})["spec"]["suspend"] is False
    simulation.settle()
    batch = simulation.get("jobs", "j-launcher")
    assert "startTime" not in batch["status"]
    assert batch["spec"]["suspend"] is False
    assert batch["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "a"}
    recover(simulation, cluster)
    assert simulation.is_true("Running")


@pytest.mark.parametrize("suspended", [False, True], ids=["at the start", "at a resume"])
def test_wait_for_workers_ready_holds_the_launcher_back(suspended: bool) -> None:
    simulation, cluster = posted(manifests.ssh_job(Launcher=1, Worker=2, spec=WAITS, policy={"suspend": suspended}))
    if suspended:
        assert simulation.get("jobs", "j-launcher")["spec"]["suspend"] is True
        cluster.edit(suspend=False)
        simulation.settle()

    def held() -> bool:
        return not simulation.of("jobs") or simulation.get("jobs", "j-launcher")["spec"].get("suspend") is True

    assert own_pods(simulation) == ["j-worker-0", "j-worker-1"]
    assert held()
    cluster.run("j-worker-0")
    simulation.settle()
    assert held()
    cluster.run("j-worker-1")
    simulation.settle()
    assert not held()


def test_a_suspended_v2beta1_job_in_a_gang_comes_to_rest_without_a_pod_group() -> None:
    simulation, _ = posted(manifests.ssh_job(Launcher=1, Worker=1, policy={"suspend": True}), gang_scheduler="volcano")
    assert simulation.of("podgroups") == []
    assert simulation.plan().empty
