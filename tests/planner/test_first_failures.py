"""The recorded failure is the cause, also if a replica that lost its peer ends or is seen before."""

from __future__ import annotations

import pytest
from tests.planner import manifests
from tests.planner.scenarios import recover, started

VICTIM = (
    "Traceback (most recent call last):\n"
    '  File "/w/train.py", line 9, in <module>\n'
    "    dist.all_reduce(weights)\n"
    "RuntimeError: [/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4711\n"
)
CAUSE = 'Traceback (most recent call last):\n  File "/w/train.py", line 7, in <module>\nValueError: no images\n'


@pytest.mark.parametrize("policy", ["Never", "ExitCode"])
def test_of_two_failures_that_are_seen_together_the_cause_is_recorded(policy: str) -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart=policy))
    cluster.fail("j-master-0", 1, message=VICTIM)
    cluster.pass_time(2)
    cluster.fail("j-worker-0", 1, message=CAUSE)
    simulation.settle()
    assert simulation.is_true("Failed")
    assert (simulation.status["failure"]["replica"], simulation.status["failure"]["cause"]) == (
        "Worker 0",
        "ValueError: no images",
    )
    assert simulation.status["failure"]["advice"] == "Check line 7 of /w/train.py."
    assert simulation.status["failure"]["evidence"][-1] == "ValueError: no images"
    assert simulation.status["failure"]["victims"] == ("Master 0",)
    assert simulation.status["why"]["message"] == "Worker 0 failed with exit code 1: ValueError: no images"


def test_a_cause_that_is_seen_after_the_job_has_failed_is_recorded() -> None:
    simulation, cluster = started(
        manifests.job("PyTorchJob", Master=1, Worker=1, policy={"cleanPodPolicy": "None"}, restart="Never")
    )
    cluster.fail("j-master-0", 1, message=VICTIM)
    simulation.settle()
    assert simulation.is_true("Failed")
    assert simulation.status["failure"]["replica"] == "Master 0"
    cluster.pass_time(2)
    cluster.fail("j-worker-0", 1, message=CAUSE)
    simulation.settle()
    assert simulation.status["failure"]["replica"] == "Worker 0"
    assert "ValueError: no images" in simulation.status["why"]["message"]


def test_victims_that_fail_after_the_cause_is_recorded_are_named_once() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=20, policy={"cleanPodPolicy": "None"}, restart="Never")
    simulation, cluster = started(job)
    cluster.fail("j-worker-0", 1, message=CAUSE)
    simulation.settle()
    assert "victims" not in simulation.status["failure"]
    cluster.pass_time(2)
    cluster.fail("j-master-0", 1, message=VICTIM)
    cluster.fail("j-worker-1", 1, message=CAUSE)
    simulation.settle()
    assert simulation.status["failure"]["victims"] == ("Master 0",)
    cluster.pass_time(60)
    cluster.fail("j-worker-2", 1, message=VICTIM)  # too late to be sure
    simulation.settle()
    assert simulation.status["failure"]["victims"] == ("Master 0",)


def test_a_record_names_at_most_sixteen_victims() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=20, policy={"cleanPodPolicy": "None"}, restart="Never")
    simulation, cluster = started(job)
    cluster.fail("j-master-0", 1, message=CAUSE)
    for index in range(20):
        cluster.fail(f"j-worker-{index}", 1, message=VICTIM)
    simulation.settle()
    assert len(simulation.status["failure"]["victims"]) == 16


def test_victims_in_containers_that_restart_in_their_pods_are_named_and_the_failure_stays_the_only_one() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="OnFailure"))
    cluster.restart_container("j-worker-0", 1, CAUSE)
    simulation.settle()
    cluster.restart_container("j-master-0", 1, VICTIM)
    simulation.settle()
    assert (simulation.status["failure"]["replica"], simulation.status["failure"]["victims"]) == ("Worker 0", ("Master 0",))
    assert "lastFailure" not in simulation.status


def test_a_cause_that_is_seen_while_the_clean_up_deletes_its_pod_is_recorded() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1, policy={"cleanPodPolicy": "Running"}, restart="Never")
    simulation, cluster = started(job)
    cluster.fail("j-master-0", 1, message=VICTIM)
    simulation.settle()
    cluster.pass_time(1)
    cluster.fail("j-worker-0", 1, message=CAUSE)
    simulation.settle()
    assert simulation.status["failure"]["replica"] == "Worker 0"


def test_a_replica_that_the_clean_up_kills_is_no_cause() -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1, policy={"cleanPodPolicy": "Running"}, restart="Never")
    simulation, cluster = started(job)
    cluster.fail("j-master-0", 1, message=VICTIM)
    simulation.settle()
    cluster.fail("j-worker-0", 143, message=CAUSE)
    simulation.settle()
    assert simulation.status["failure"]["replica"] == "Master 0"


def test_a_failure_of_its_own_is_kept_whatever_follows() -> None:
    simulation, cluster = started(
        manifests.job("PyTorchJob", Master=1, Worker=1, policy={"cleanPodPolicy": "None"}, restart="Never")
    )
    cluster.fail("j-master-0", 1, message="out of data")
    simulation.settle()
    cluster.fail("j-worker-0", 1, message=CAUSE)
    simulation.settle()
    assert simulation.status["failure"]["replica"] == "Master 0"


def test_in_containers_that_restart_in_their_pods_the_cause_is_recorded_when_it_is_seen() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="OnFailure"))
    cluster.restart_container("j-master-0", 1, VICTIM)
    simulation.settle()
    assert simulation.status["failure"]["replica"] == "Master 0"
    cluster.restart_container("j-worker-0", 1, CAUSE)
    simulation.settle()
    assert simulation.status["failure"]["replica"] == "Worker 0"
    assert "lastFailure" not in simulation.status


def test_a_failed_job_names_the_failure_that_ended_it_not_the_first_one() -> None:
    simulation, cluster = started(manifests.job("PyTorchJob", Master=1, Worker=1, restart="ExitCode"))
    cluster.fail("j-worker-0", 137, message="killed")
    recover(simulation, cluster)
    assert simulation.is_true("Running")
    cluster.fail("j-worker-0", 1, message=CAUSE)
    simulation.settle()
    assert simulation.is_true("Failed")
    assert (simulation.status["failure"]["exitCode"], simulation.status["lastFailure"]["exitCode"]) == (137, 1)
    assert simulation.status["why"]["message"] == "Worker 0 failed with exit code 1: ValueError: no images"
