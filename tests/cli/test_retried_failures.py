"""A failure that was retried long ago is not the cause of a later one, though its pod still shows it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from tests.cli.test_render import NOW, observed, pod

from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection import explanation, failures, replica_ends
from traincrew.inspection.observed_job import ObservedJob

OLD, LATE = "2026-01-01T10:00:00Z", "2026-01-01T15:00:00Z"
OUT_OF_MEMORY: dict[str, Any] = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": OLD}
EXITED: dict[str, Any] = {"exitCode": 1, "reason": "Error", "finishedAt": LATE}
ENDS = (
    ReplicaEnd("Worker 0", "start", 137, "OOMKilled", dt.datetime.fromisoformat(OLD), "pytorch", "1Gi"),
    ReplicaEnd("Worker 1", "no data\n", 1, "Error", dt.datetime.fromisoformat(LATE)),
)


def retried(index: int, **last: Any) -> Any:
    """A pod whose container was restarted after it had ended so."""
    status = {"name": "pytorch", "state": {"running": {"startedAt": OLD}}, "lastState": {"terminated": last}, "restartCount": 1}
    return pod(f"j-worker-{index}", index=index, containerStatuses=[status])


def failed(index: int, **ended: Any) -> Any:
    status = {"name": "pytorch", "state": {"terminated": ended}}
    return pod(f"j-worker-{index}", "Failed", index=index, containerStatuses=[status])


def job(state: str, *pods: Any) -> ObservedJob:
    """Worker 0 ran out of memory and was restarted in its pod. Hours later Worker 1 exited."""
    memory = {"replica": "Worker 0", "pod": "j-worker-0", "uid": "uid-j-worker-0", "exitCode": 137, "reason": "OOMKilled",
              "time": OLD, "cause": "out of memory"}  # fmt: skip
    exit = {"replica": "Worker 1", "pod": "j-worker-1", "uid": "uid-j-worker-1", "exitCode": 1, "reason": "Error", "time": LATE}
    return observed(*pods, conditions=(state,), failure=memory, lastFailure=exit)


@pytest.mark.parametrize(("state", "title"), [("Failed", ""), ("Running", "last failure: ")])
def test_a_retried_failure_is_not_named_as_the_cause_of_a_later_one(state: str, title: str) -> None:
    found = explanation.explain(job(state), explanation.Evidence(ends=ENDS), NOW)
    assert [cause for cause in found.causes if cause.startswith("Worker 0 failed first")] == []
    assert found.causes[-1] == (
        f'{title}Worker 1 (pod j-worker-1) exited with code 1 at 2026-01-01 15:00:00 UTC: its last line was "no data"'
    )
    assert sum("memory" in cause for cause in found.causes) == 1, "as the first failure"
    assert not any("memory" in remedy for remedy in found.remedies)


@pytest.mark.parametrize(("seconds", "first"), [(20, "Worker 0"), (40, "Worker 1")])
def test_the_failures_of_half_a_minute_may_have_the_same_cause(seconds: int, first: str) -> None:
    earlier = dt.datetime.fromisoformat(LATE) - dt.timedelta(seconds=seconds)
    ends = (ReplicaEnd("Worker 0", "", 137, "OOMKilled", earlier), ENDS[1])
    found = failures.diagnose(job("Failed"), ends)
    assert found is not None
    assert found.replica == first


def test_logs_of_failures_that_were_retried_are_not_read() -> None:
    """Else they would take the place of the logs of the failure that ended the job: the number of logs is limited."""
    old = [retried(index, **OUT_OF_MEMORY) for index in range(2, replica_ends.MAX_PODS + 2)]
    observed_job = job("Failed", failed(1, **EXITED), *old)
    assert observed_job.failure is not None
    (found,) = replica_ends.failed_containers(observed_job.pods, observed_job.failure)
    assert found.pod.name == "j-worker-1"
