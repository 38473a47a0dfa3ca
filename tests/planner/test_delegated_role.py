"""MPIJob v2beta1, whose launcher is a batch Job: replicaStatuses and events as the MPI operator writes them."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.cluster_events import ClusterEvents
from tests.planner.manifests import Manifest
from tests.planner.scenarios import posted
from tests.planner.simulation import Simulation

from traincrew.planner.delegated_role import BATCH_BACKOFF_LIMIT


def job(**details: Manifest) -> Manifest:
    return manifests.ssh_job(Launcher=1, Worker=2, **details)


def launcher_pods(simulation: Simulation) -> list[str]:
    return [name for name in simulation.names("pods") if name.startswith("j-launcher")]


def workers_run(simulation: Simulation, cluster: ClusterEvents) -> None:
    for name in ("j-worker-0", "j-worker-1"):
        cluster.run(name)
    simulation.settle()


def test_replica_statuses_have_counts_only_and_the_selector_of_the_workers_is_beside_them() -> None:
    simulation, cluster = posted(job())
    assert simulation.status["replicaStatuses"] == {"Launcher": {}, "Worker": {}}
    workers_run(simulation, cluster)
    assert simulation.status["replicaStatuses"] == {"Launcher": {}, "Worker": {"active": 2}}
    labels = "training.kubeflow.org/job-name=j,training.kubeflow.org/job-role=worker"
    assert simulation.status["selector"] == f"{labels},training.kubeflow.org/operator-name=mpi-operator"


def test_a_job_created_suspended_has_empty_counts_of_both_roles() -> None:
    simulation, _ = posted(job(policy={"suspend": True}))
    assert simulation.status["replicaStatuses"] == {"Launcher": {}, "Worker": {}}


def test_a_job_without_workers_has_empty_counts_of_workers_and_no_selector() -> None:
    simulation, _ = posted(manifests.ssh_job(Launcher=1))
    assert simulation.status["replicaStatuses"] == {"Launcher": {}, "Worker": {}}
    assert "selector" not in simulation.status


def test_a_launcher_that_waits_for_its_workers_has_no_counts_before_it_exists() -> None:
    simulation, cluster = posted(job(spec={"launcherCreationPolicy": "WaitForWorkersReady"}))
    assert simulation.status["replicaStatuses"] == {"Worker": {}}
    cluster.run("j-worker-0")
    simulation.settle()
    assert simulation.status["replicaStatuses"] == {"Worker": {"active": 1}}
    cluster.run("j-worker-1")
    simulation.settle()
    assert simulation.names("jobs") == ["j-launcher"]
    assert simulation.status["replicaStatuses"] == {"Launcher": {}, "Worker": {"active": 2}}


def test_failed_launchers_are_counted_also_when_their_pods_are_gone() -> None:
    simulation, cluster = posted(job())
    workers_run(simulation, cluster)
    cluster.launch()
    (launcher,) = launcher_pods(simulation)
    cluster.run(launcher)
    cluster.fail(launcher)
    simulation.settle()
    assert simulation.status["replicaStatuses"] == {"Launcher": {"failed": 1}, "Worker": {"active": 2}}
    batch_job = simulation.get("jobs", "j-launcher")
    batch_job["status"] = {**batch_job.get("status", {}), "failed": 2}
    simulation.settle()
    assert simulation.status["replicaStatuses"] == {"Launcher": {"failed": 2}, "Worker": {"active": 2}}


def test_the_failure_of_a_launcher_that_is_restarted_inside_its_pod_is_recorded() -> None:
    simulation, cluster = posted(job())
    workers_run(simulation, cluster)
    cluster.launch()
    (launcher,) = launcher_pods(simulation)
    cluster.run(launcher)
    cluster.restart_container(launcher)
    simulation.settle()
    assert (simulation.status["failure"]["pod"], simulation.is_true("Failed")) == (launcher, False)


@pytest.mark.parametrize("ends", ["fail", "succeed"])
def test_the_running_event_is_recorded_also_if_the_launcher_ends_before_it_was_seen_running(ends: str) -> None:
    simulation, cluster = posted(job())
    workers_run(simulation, cluster)
    cluster.launch()
    (launcher,) = launcher_pods(simulation)
    cluster.run(launcher)
    getattr(cluster, ends)(launcher)
    simulation.settle()
    assert [message for reason, message in simulation.events if reason == "MPIJobRunning"] == ["MPIJob n/j is running."]
    simulation.settle()
    assert sum(reason == "MPIJobRunning" for reason, _ in simulation.events) == 1


def test_the_running_event_is_not_recorded_for_a_launcher_that_never_ran() -> None:
    simulation, cluster = posted(job())
    workers_run(simulation, cluster)
    cluster.launch()
    (launcher,) = launcher_pods(simulation)
    cluster.refuse_at_node(launcher)
    simulation.settle()
    assert [reason for reason, _ in simulation.events if reason == "MPIJobRunning"] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({}, {"activeDeadlineSeconds": 60}, id="a deadline is set"),
        pytest.param({"activeDeadlineSeconds": 60}, {"activeDeadlineSeconds": 90}, id="a deadline is changed"),
        pytest.param({"activeDeadlineSeconds": 60}, {}, id="a deadline is removed"),
        pytest.param({}, {"backoffLimit": 0}, id="a backoff limit is set"),
        pytest.param({"backoffLimit": 2}, {"backoffLimit": 4}, id="a backoff limit is changed"),
        pytest.param({"backoffLimit": 2}, {}, id="a backoff limit is removed"),
    ],
)
def test_limits_of_a_running_job_that_are_changed_reach_its_launcher(before: Manifest, after: Manifest) -> None:
    simulation, cluster = posted(job(policy=before))
    workers_run(simulation, cluster)
    cluster.launch()
    spec = simulation.get("jobs", "j-launcher")["spec"]
    spec.setdefault("backoffLimit", BATCH_BACKOFF_LIMIT)  # the API server does
    assert simulation.job is not None
    simulation.job["spec"]["runPolicy"] = after
    simulation.settle()
    spec = simulation.get("jobs", "j-launcher")["spec"]
    limits = {name: value for name in ("activeDeadlineSeconds", "backoffLimit") if (value := spec.get(name)) is not None}
    default = {} if "backoffLimit" in before else {"backoffLimit": BATCH_BACKOFF_LIMIT}
    assert limits == {**default, **after}
