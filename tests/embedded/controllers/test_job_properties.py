"""Whatever happens to its pods, and wherever its controller is killed, a Job counts every end once and comes to one end."""

from __future__ import annotations

import datetime as dt

import hypothesis
from hypothesis import strategies as st
from tests.embedded.controllers.simulated_job import SimulatedJob, job

SPECS = st.fixed_dictionaries(
    {
        "parallelism": st.integers(1, 4),
        "completions": st.integers(1, 5),
        "backoffLimit": st.integers(0, 3),
        "completionMode": st.sampled_from(["NonIndexed", "Indexed"]),
        "podReplacementPolicy": st.sampled_from(["TerminatingOrFailed", "Failed"]),
    }
)
MOVES = st.lists(st.tuples(st.sampled_from(["succeed", "fail", "delete", "wait", "step"]), st.integers(0, 9)), max_size=40)


def play(found: SimulatedJob, moves: list[tuple[str, int]]) -> None:
    for move, number in moves:
        active = found.active()
        if move == "step":
            found.execute(found.step(), number)
        elif move == "wait":
            found.now += dt.timedelta(minutes=number)
        elif active and move == "delete":
            found.delete(active[number % len(active)])
        elif active:
            found.end(active[number % len(active)], {"succeed": "Succeeded", "fail": "Failed"}[move])
        assert len(found.active()) <= found.job["spec"]["parallelism"]


def finish(found: SimulatedJob) -> None:
    for _ in range(60):
        found.settle()
        if {"Complete", "Failed"} & set(found.conditions()):
            return
        found.now += dt.timedelta(minutes=11)
        for uid in found.active():
            found.end(uid, "Succeeded")
        for uid, pod in list(found.pods.items()):
            if pod.terminating:
                found.end(uid, "Failed")
    raise AssertionError(f"it never ends: {found.status}")


@hypothesis.given(spec=SPECS, moves=MOVES)
def test_a_job_ends_once_with_every_pod_counted_once(spec: dict[str, object], moves: list[tuple[str, int]]) -> None:
    found = SimulatedJob(job(**spec))
    play(found, moves)
    finish(found)
    message = found.conditions()
    assert message in (["SuccessCriteriaMet", "Complete"], ["FailureTarget", "Failed"])
    assert not found.status["uncountedTerminatedPods"]
    assert "active" not in found.status
    assert not any(pod.tracked for pod in found.pods.values())
    before = found.status
    found.settle()
    assert found.status == before


@hypothesis.given(spec=SPECS, moves=MOVES)
def test_its_numbers_are_those_of_the_pods(spec: dict[str, object], moves: list[tuple[str, int]]) -> None:
    found = SimulatedJob(job(**spec))
    play(found, moves)
    finish(found)
    ends = list(found.ended.values())
    if spec["completionMode"] == "NonIndexed":
        assert found.status.get("succeeded", 0) == ends.count("Succeeded")
    assert found.status.get("succeeded", 0) <= max(ends.count("Succeeded"), 0)
    if "Complete" in found.conditions():
        assert found.status["succeeded"] >= int(str(spec["completions"]))
        assert found.status["completionTime"]
        # A pod of an index that has succeeded already may end in any way.
        assert found.status.get("failed", 0) <= ends.count("Failed")
    else:
        assert found.status["failed"] >= ends.count("Failed")
        assert "completionTime" not in found.status


@hypothesis.given(limit=st.integers(0, 4))
def test_it_fails_with_the_failure_beyond_its_limit(limit: int) -> None:
    found = SimulatedJob(job(backoffLimit=limit))
    for _ in range(limit + 1):
        found.settle()
        assert found.conditions() == []
        found.now += dt.timedelta(minutes=11)
        found.settle()
        [uid] = found.active()
        found.end(uid, "Failed")
    found.settle()
    assert found.conditions() == ["FailureTarget", "Failed"]
    assert found.status["failed"] == limit + 1
    assert found.events == [("Warning", "BackoffLimitExceeded", "Job has reached the specified backoff limit")]


@hypothesis.given(failures=st.integers(1, 12), early=st.floats(0.1, 1.0))
def test_each_failure_in_a_row_doubles_the_wait_up_to_ten_minutes(failures: int, early: float) -> None:
    found = SimulatedJob(job(backoffLimit=99))
    found.settle()
    for number in range(failures):
        found.end(found.active()[0], "Failed")
        found.settle()
        wait = min(10 * 2**number, 600)
        found.now += dt.timedelta(seconds=wait - early)
        found.settle()
        assert found.active() == []
        found.now += dt.timedelta(seconds=early)
        found.settle()
        assert len(found.active()) == 1


@hypothesis.given(spec=SPECS, moves=MOVES)
def test_suspending_takes_the_pods_and_counts_none_of_them(spec: dict[str, object], moves: list[tuple[str, int]]) -> None:
    found = SimulatedJob(job(**spec))
    play(found, moves)
    found.settle()
    if {"SuccessCriteriaMet", "FailureTarget"} & set(found.conditions()):
        return
    before = found.status
    found.job["spec"]["suspend"] = True
    found.settle()
    assert found.active() == []
    assert found.conditions() == ["Suspended"]
    assert [found.status.get(key) for key in ("failed", "succeeded")] == [before.get(key) for key in ("failed", "succeeded")]
    found.now += dt.timedelta(hours=1)
    found.job["spec"]["suspend"] = False
    found.settle()
    assert found.conditions() == []
    assert found.status["startTime"] == found.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    finish(found)
