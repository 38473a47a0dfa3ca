"""A job that hangs is described by the replica that differs from the others, or by the silence of all."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest

from traincrew.diagnosis import hang
from traincrew.diagnosis.hang import ReplicaActivity
from traincrew.diagnosis.waiting_calls import waiting_call

NOW = dt.datetime(2026, 1, 1, 12, 0, 0, tzinfo=dt.UTC)
INIT = (
    "wait (torch/distributed/distributed_c10d.py:1990)",
    "_store_based_barrier (torch/distributed/distributed_c10d.py:888)",
    "init_process_group (torch/distributed/distributed_c10d.py:1714)",
    "main (train.py:14)",
    "<module> (train.py:40)",
)
SLEEPS = ("sleep (train.py:11)", "main (train.py:11)", "<module> (train.py:40)")


def replica(name: str, minutes: float, **facts: object) -> ReplicaActivity:
    """A replica that was started an hour ago and last printed so many minutes ago."""
    known = ReplicaActivity(name, started=NOW - dt.timedelta(hours=1), last_output=NOW - dt.timedelta(minutes=minutes))
    return dataclasses.replace(known, **facts)  # type: ignore[arg-type]


def message(*activities: ReplicaActivity) -> str:
    found = hang.find(activities, NOW)
    return found.message if found is not None else ""


def test_a_rank_that_never_joins_is_named_with_what_the_others_wait_in() -> None:
    found = hang.find(
        [
            replica("master-0", 4, cpu=0.0, connections=2, stack=INIT),
            replica("worker-0", 4, cpu=0.0, connections=1, stack=INIT),
            replica("worker-1", 4, cpu=0.0, connections=0),
        ],
        NOW,
    )
    assert found is not None
    assert found.message == (
        "worker-1 has printed nothing for 4 min, uses no CPU and has no connection to the other replicas; "
        "the others wait in init_process_group"
    )
    assert (found.replicas, found.since) == (("worker-1",), NOW - dt.timedelta(minutes=4))


def test_of_two_replicas_only_the_stacks_show_which_one_never_joins() -> None:
    two = [replica(name, 3, cpu=0.0, connections=0) for name in ("master-0", "worker-0")]
    assert hang.find(two, NOW) is None
    assert hang.may_differ(two, NOW, hang.HangLimits())
    assert not hang.may_differ(two, NOW, hang.HangLimits(one_differs=dt.timedelta(minutes=4)))
    assert not hang.may_differ([two[0], dataclasses.replace(two[1], state="Waiting")], NOW, hang.HangLimits())
    found = hang.find([dataclasses.replace(two[0], stack=INIT), dataclasses.replace(two[1], stack=SLEEPS)], NOW)
    assert found is not None
    assert found.replicas == ("worker-0",)
    assert "is in sleep (train.py:11); master-0 waits in init_process_group" in found.message


def test_stacks_are_stronger_evidence_than_connections() -> None:
    others = [replica(name, 3, connections=0, stack=INIT) for name in ("master-0", "worker-0")]
    found = hang.find([*others, replica("worker-1", 3, connections=2, stack=SLEEPS)], NOW)
    assert found is not None
    assert found.replicas == ("worker-1",)
    assert "is in sleep (train.py:11)" in found.message


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        pytest.param(1.9, "", id="not yet two minutes"),
        pytest.param(2.1, "worker-1 has printed nothing for 2 min and uses no CPU; master-0 uses CPU", id="two minutes"),
    ],
)
def test_a_replica_that_differs_is_reported_after_two_minutes(minutes: float, expected: str) -> None:
    assert message(replica("master-0", minutes, cpu=1.0), replica("worker-1", minutes, cpu=0.0)) == expected


def test_the_majority_waits() -> None:
    waiting = [replica(f"worker-{index}", 3, cpu=0.0) for index in range(3)]
    assert message(*waiting, replica("worker-3", 3, cpu=1.0)) == (
        "worker-3 has printed nothing for 3 min and uses CPU; the others wait"
    )


@pytest.mark.parametrize(
    ("facts", "others"),
    [
        pytest.param({"cpu": 3.9}, "use CPU", id="they compute, or poll"),
        pytest.param({"cpu": 0.0, "connections": 1}, "wait", id="they are idle"),
        pytest.param({"connections": 1}, "have printed nothing either", id="CPU unknown"),
        pytest.param({"cpu": 3.9, "stack": INIT}, "wait in init_process_group", id="their stacks"),
    ],
)
def test_the_others_wait_only_if_something_shows_it(facts: dict[str, object], others: str) -> None:
    coordinator = replica("master-0", 3, cpu=0.0, connections=0, stack=SLEEPS if "stack" in facts else ())
    text = message(coordinator, *(replica(f"worker-{index}", 3, **facts) for index in range(3)))
    assert text.startswith("master-0 has printed nothing for 3 min, uses no CPU")
    assert text.endswith(f"; the others {others}")


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        pytest.param(0.0, "no replica has printed anything for 6 min and none uses CPU", id="idle"),
        pytest.param(1.0, "no replica has printed anything for 6 min, but all use CPU and may be computing", id="busy"),
        pytest.param(None, "no replica has printed anything for 6 min", id="CPU unknown"),
    ],
)
def test_silence_of_all_is_reported_after_five_minutes(cpu: float | None, expected: str) -> None:
    assert message(replica("master-0", 4, cpu=cpu), replica("worker-0", 30, cpu=cpu)) == ""
    assert message(replica("master-0", 6, cpu=cpu), replica("worker-0", 30, cpu=cpu)) == expected


@pytest.mark.parametrize(
    ("stack", "hint"),
    [
        (INIT, "init_process_group: check that the world size of the program is WORLD_SIZE"),
        (("initialize (jax/_src/distributed.py:120)",),
         "jax.distributed.initialize: check that num_processes of the program is NUM_PROCESSES"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("number", [1, 3])
def test_replicas_that_all_wait_for_a_rank_that_does_not_exist_are_reported_early(
    stack: tuple[str, ...], hint: str, number: int
) -> None:
    waits = [replica(f"worker-{index}", 2, cpu=0.0, connections=0) for index in range(number)]
    assert hang.find(waits, NOW) is None
    assert hang.may_differ(waits, NOW, hang.HangLimits())
    text = message(*(dataclasses.replace(each, stack=stack) for each in waits))
    assert text.endswith(f"for 2 min; {'worker-0 waits' if number == 1 else 'all wait'} in {hint}")
    assert message(*(dataclasses.replace(each, stack=("barrier (train.py:1)",)) for each in waits)) == ""


def test_silence_of_a_job_with_one_replica() -> None:
    assert message(replica("worker-0", 7, cpu=0.0)) == "worker-0 has printed nothing for 7 min and uses no CPU"


def test_a_replica_that_ended_is_named() -> None:
    text = message(replica("master-0", 6, cpu=0.0), replica("worker-0", 8, state="Succeeded"))
    assert text == "master-0 has printed nothing for 6 min and uses no CPU; worker-0 has ended"


def test_the_message_disappears_when_output_resumes() -> None:
    silent = [replica("master-0", 6, cpu=0.0), replica("worker-0", 6, cpu=0.0)]
    assert message(*silent)
    assert not message(dataclasses.replace(silent[0], last_output=NOW), silent[1])


def test_ranks_that_never_print_are_normal_while_one_prints() -> None:
    quiet = [replica(f"worker-{index}", 0, last_output=None, cpu=0.9) for index in range(3)]
    assert message(replica("master-0", 0.1, cpu=0.9), *quiet) == ""


def test_a_replica_that_does_nothing_while_the_others_continue_is_named() -> None:
    others = [replica(f"worker-{index}", 0.5, cpu=0.9) for index in range(2)]
    text = "worker-2 has printed nothing for 10 min and uses no CPU; the others continue"
    assert message(*others, replica("worker-2", 10, cpu=0.0)) == text


def test_without_cpu_a_replica_that_used_to_print_is_named_only_if_all_others_print() -> None:
    others = [replica(f"worker-{index}", 0.5) for index in range(2)]
    assert message(*others, replica("worker-2", 10)) == "worker-2 has printed nothing for 10 min; the others continue"
    assert message(*others, replica("worker-2", 10, last_output=None)) == ""
    assert message(others[0], replica("worker-2", 10)) == ""


def test_parameter_servers_and_launchers_are_not_blamed() -> None:
    server = replica("ps-0", 50, prints=False, cpu=0.0)
    assert message(server, *(replica(f"worker-{index}", 0.5, cpu=0.9) for index in range(2))) == ""
    launcher = replica("launcher", 0.5, computes=False, cpu=0.0)
    assert message(launcher, *(replica(f"worker-{index}", 50, prints=False, cpu=0.9) for index in range(2))) == ""


def test_a_job_that_waits_for_a_replica_to_start_does_not_hang() -> None:
    assert message(replica("master-0", 10, cpu=0.0), ReplicaActivity("worker-0", state="Waiting")) == ""


def test_limits_can_be_set() -> None:
    limits = hang.HangLimits(all_silent=dt.timedelta(seconds=30), one_differs=dt.timedelta(seconds=20))
    found = hang.find([replica("worker-0", 0.6)], NOW, limits)
    assert found is not None
    assert found.message == "worker-0 has printed nothing for 36 s"


@pytest.mark.parametrize(
    ("stack", "call"),
    [
        pytest.param(INIT, "init_process_group", id="the outermost call counts"),
        pytest.param(SLEEPS, "", id="no call that waits for others"),
        pytest.param(("Allreduce (mpi4py/MPI.pyx:1)", "<module> (a.py:3)"), "all_reduce", id="mpi4py"),
        pytest.param(("connect (jax/_src/distributed.py:120)", "initialize (jax/_src/distributed.py:60)"),
                     "jax.distributed.initialize", id="JAX"),
    ],
)  # fmt: skip
def test_calls_that_wait_for_other_ranks_are_recognized(stack: tuple[str, ...], call: str) -> None:
    assert waiting_call(stack) == call
