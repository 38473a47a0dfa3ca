"""Properties of a Job under random pod events and interruptions of its controller."""

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


def play(simulated: SimulatedJob, moves: list[tuple[str, int]]) -> None:
    for move, number in moves:
        active = simulated.active()
        if move == "step":
            simulated.execute(simulated.step(), number)
        elif move == "wait":
            simulated.now += dt.timedelta(minutes=number)
        elif active and move == "delete":
            simulated.delete(active[number % len(active)])
        elif active:
            simulated.end(active[number % len(active)], {"succeed": "Succeeded", "fail": "Failed"}[move])
        assert len(simulated.active()) <= simulated.job["spec"]["parallelism"]


def finish(simulated: SimulatedJob) -> None:
    for _ in range(60):
        simulated.settle()
        if {"Complete", "Failed"} & set(simulated.conditions()):
            return
        simulated.now += dt.timedelta(minutes=11)
        for uid in simulated.active():
            simulated.end(uid, "Succeeded")
        for uid, pod in list(simulated.pods.items()):
            if pod.terminating:
                simulated.end(uid, "Failed")
    raise AssertionError(f"the Job does not finish: {simulated.status}")


@hypothesis.given(spec=SPECS, moves=MOVES)
def test_a_job_ends_once_with_every_pod_counted_once(spec: dict[str, object], moves: list[tuple[str, int]]) -> None:
    simulated = SimulatedJob(job(**spec))
    play(simulated, moves)
    finish(simulated)
    conditions = simulated.conditions()
    assert conditions in (["SuccessCriteriaMet", "Complete"], ["FailureTarget", "Failed"])
    assert not simulated.status["uncountedTerminatedPods"]
    assert "active" not in simulated.status
    assert not any(pod.tracked for pod in simulated.pods.values())
    before = simulated.status
    simulated.settle()
    assert simulated.status == before


@hypothesis.given(spec=SPECS, moves=MOVES)
def test_the_status_counts_the_pods(spec: dict[str, object], moves: list[tuple[str, int]]) -> None:
    simulated = SimulatedJob(job(**spec))
    play(simulated, moves)
    finish(simulated)
    ends = list(simulated.ended.values())
    if spec["completionMode"] == "NonIndexed":
        assert simulated.status.get("succeeded", 0) == ends.count("Succeeded")
    assert simulated.status.get("succeeded", 0) <= max(ends.count("Succeeded"), 0)
    if "Complete" in simulated.conditions():
        assert simulated.status["succeeded"] >= int(str(spec["completions"]))
        assert simulated.status["completionTime"]
        # A pod of an index that has succeeded already may end in any way.
        assert simulated.status.get("failed", 0) <= ends.count("Failed")
    else:
        assert simulated.status["failed"] >= ends.count("Failed")
        assert "completionTime" not in simulated.status


@hypothesis.given(limit=st.integers(0, 4))
def test_a_job_fails_after_its_backoff_limit(limit: int) -> None:
    simulated = SimulatedJob(job(backoffLimit=limit))
    for _ in range(limit + 1):
        simulated.settle()
        assert simulated.conditions() == []
        simulated.now += dt.timedelta(minutes=11)
        simulated.settle()
        [uid] = simulated.active()
        simulated.end(uid, "Failed")
    simulated.settle()
    assert simulated.conditions() == ["FailureTarget", "Failed"]
    assert simulated.status["failed"] == limit + 1
    assert simulated.events == [("Warning", "BackoffLimitExceeded", "Job has reached the specified backoff limit")]


@hypothesis.given(failures=st.integers(1, 12), early=st.floats(0.1, 1.0))
def test_each_consecutive_failure_doubles_the_backoff_up_to_ten_minutes(failures: int, early: float) -> None:
    simulated = SimulatedJob(job(backoffLimit=99))
    simulated.settle()
    for number in range(failures):
        simulated.end(simulated.active()[0], "Failed")
        simulated.settle()
        wait = min(10 * 2**number, 600)
        simulated.now += dt.timedelta(seconds=wait - early)
        simulated.settle()
        assert simulated.active() == []
        simulated.now += dt.timedelta(seconds=early)
        simulated.settle()
        assert len(simulated.active()) == 1


@hypothesis.given(spec=SPECS, moves=MOVES)
def test_suspending_deletes_the_pods_without_counting_them(spec: dict[str, object], moves: list[tuple[str, int]]) -> None:
    simulated = SimulatedJob(job(**spec))
    play(simulated, moves)
    simulated.settle()
    if {"SuccessCriteriaMet", "FailureTarget"} & set(simulated.conditions()):
        return
    before = simulated.status
    simulated.job["spec"]["suspend"] = True
    simulated.settle()
    assert simulated.active() == []
    assert simulated.conditions() == ["Suspended"]
    assert [simulated.status.get(key) for key in ("failed", "succeeded")] == [before.get(key) for key in ("failed", "succeeded")]
    simulated.now += dt.timedelta(hours=1)
    simulated.job["spec"]["suspend"] = False
    simulated.settle()
    assert simulated.conditions() == []
    assert simulated.status["startTime"] == simulated.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    finish(simulated)
