"""The list of conditions."""

from __future__ import annotations

import datetime as dt

from tests.planner import manifests
from tests.planner.scenarios import recover, started

from traincrew.model.status import Condition
from traincrew.planner import conditions

THEN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


def entry(type_: str, status: str = "True", reason: str = "R", message: str = "m") -> Condition:
    return Condition(type=type_, status=status, reason=reason, message=message)


def listed(*entries: Condition) -> list[Condition]:
    found: list[Condition] = []
    for each in entries:
        found = conditions.put(found, each, THEN)
    return found


def states(found: list[Condition]) -> list[tuple[str, str]]:
    return [(each.type, each.status) for each in found]


def test_same_status_and_reason_change_nothing_not_even_the_message() -> None:
    before = listed(entry("Created"), entry("Running"))
    assert conditions.put(before, entry("Running", message="other"), NOW) is before


def test_a_new_reason_keeps_the_time_of_the_transition_and_moves_to_the_end() -> None:
    after = conditions.put(listed(entry("Running"), entry("Created")), entry("Running", reason="Other"), NOW)
    assert states(after) == [("Created", "True"), ("Running", "True")]
    assert (after[-1].last_update_time, after[-1].last_transition_time) == (NOW, THEN)


def test_a_new_status_is_a_transition() -> None:
    after = conditions.put(listed(entry("Running")), entry("Running", "False"), NOW)
    assert after[-1].last_transition_time == NOW


def test_running_and_restarting_exclude_each_other() -> None:
    restarting = listed(entry("Created"), entry("Running"), entry("Restarting"))
    assert states(restarting) == [("Created", "True"), ("Restarting", "True")]
    assert states(conditions.put(restarting, entry("Running"), NOW)) == [("Created", "True"), ("Running", "True")]


def test_an_end_turns_running_to_false_in_place_and_leaves_its_times() -> None:
    after = conditions.put(listed(entry("Running", message="runs"), entry("Created")), entry("Succeeded"), NOW)
    assert states(after) == [("Running", "False"), ("Created", "True"), ("Succeeded", "True")]
    assert (after[0].message, after[0].last_update_time) == ("runs", THEN)


def test_after_the_end_nothing_changes() -> None:
    for first, second in (("Failed", "Succeeded"), ("Succeeded", "Failed"), ("Failed", "Running")):
        before = listed(entry("Created"), entry(first))
        assert conditions.put(before, entry(second), NOW) is before


def test_a_job_with_a_restart_has_the_usual_conditions() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Worker=1))
    cluster.fail("j-worker-0")
    simulation.settle()
    restarting = simulation.condition("Restarting")
    assert restarting is not None
    assert restarting["message"] == "job j is restarting because Worker replica(s) failed."
    recover(simulation, cluster)
    cluster.succeed("j-worker-0")
    simulation.settle()
    assert [(each["type"], each["status"], each["reason"], each["message"]) for each in simulation.status["conditions"]] == [
        ("Created", "True", "PyTorchJobCreated", "PyTorchJob j is created."),
        ("Running", "False", "PyTorchJobRunning", "PyTorchJob n/j is running."),
        ("Succeeded", "True", "PyTorchJobSucceeded", "PyTorchJob n/j successfully completed."),
    ]
    reasons = [reason for reason, _ in simulation.events]
    assert reasons.count("PyTorchJobSucceeded") == 1
    assert reasons.count("PyTorchJobRestarting") == 1


def test_pending_pods_are_counted_nowhere() -> None:
    simulation, _ = started(manifests.job("PyTorchJob", Master=1, Worker=1))
    simulation.pod("j-worker-0")["status"] = {"phase": "Pending"}
    simulation.settle()
    counts = simulation.status["replicaStatuses"]
    assert counts["Master"]["active"] == 1
    assert set(counts["Worker"]) == {"selector"}


def test_every_scalable_kind_reports_its_selector_even_with_no_replica() -> None:
    prefix = "training.kubeflow.org/job-name=j,training.kubeflow.org/"
    simulation, _ = started(manifests.job("PaddleJob", Master=1, Worker=0))
    selector = simulation.status["replicaStatuses"]["Worker"]["selector"]
    assert selector == f"{prefix}operator-name=paddlejob-controller,training.kubeflow.org/replica-type=worker"
    simulation, _ = started(manifests.job("MPIJob", Launcher=1, Worker=0))
    selector = simulation.status["replicaStatuses"]["Worker"]["selector"]
    assert selector == f"{prefix}operator-name=mpijob-controller,training.kubeflow.org/replica-type=worker"
    simulation, _ = started(manifests.ssh_job(Launcher=1, Worker=1))
    assert simulation.status["replicaStatuses"] == {"Launcher": {"active": 1}, "Worker": {"active": 1}}
    selector = simulation.status["selector"]
    assert selector == f"{prefix}job-role=worker,training.kubeflow.org/operator-name=mpi-operator"
    simulation, _ = started(manifests.job("TFJob", Worker=1))
    assert "selector" not in simulation.status["replicaStatuses"]["Worker"]
