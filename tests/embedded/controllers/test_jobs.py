"""What the Job controller's decisions are created of."""

from __future__ import annotations

import datetime as dt

import msgspec
from tests.embedded.controllers.simulated_job import START, Object, SimulatedJob, job

from traincrew.embedded.controllers.jobs import backoff, completion, plan, pod_indexes, policies
from traincrew.embedded.controllers.jobs.controller import backoff_from_pods
from traincrew.embedded.controllers.pods import Pod


def test_a_pod_of_an_indexed_job_knows_its_index() -> None:
    found = SimulatedJob(job(completionMode="Indexed", completions=2, parallelism=2))
    [first, second] = found.step().create
    assert first["metadata"]["generateName"] == "j-0-"
    assert second["metadata"]["labels"][pod_indexes.INDEX] == second["metadata"]["annotations"][pod_indexes.INDEX] == "1"
    assert second["spec"]["hostname"] == "j-1"
    [variable] = second["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"


def test_making_a_pod_does_not_change_the_job() -> None:
    given = job(completionMode="Indexed", completions=2, parallelism=2)
    before = msgspec.json.encode(given)
    SimulatedJob(given).settle()
    assert msgspec.json.encode({**given, "status": None}) == msgspec.json.encode({**msgspec.json.decode(before), "status": None})


def test_somebody_elses_job_is_left_alone() -> None:
    assert SimulatedJob(job(managedBy="example.com/other")).step() == plan.Step()


def pod(phase: str = "Failed", code: int = 1) -> Pod:
    status = {"phase": phase, "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": code}}}]}
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n"}, "status": status}, Pod)


def rules(*found: Object) -> Object:
    return {"podFailurePolicy": {"rules": list(found)}}


def test_the_first_rule_that_matches_decides() -> None:
    ignored = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}}
    fails = {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}
    assert not policies.match_failure_policy(rules(ignored, fails), pod()).counts
    found = policies.match_failure_policy(rules(ignored, fails), pod(code=3))
    assert found.message == "Container c for pod n/p failed with exit code 3 matching FailJob rule at index 1"


def test_a_rule_of_another_container_does_not_match() -> None:
    rule = {"action": "Ignore", "onExitCodes": {"containerName": "other", "operator": "In", "values": [1]}}
    assert policies.match_failure_policy(rules(rule), pod()) == policies.FailureAction()


def test_a_success_forgives_the_failures_before_it() -> None:
    found = SimulatedJob(job(completions=3, parallelism=2, backoffLimit=9))
    found.settle()
    first, second = found.active()
    found.end(first, "Failed")
    found.settle()
    found.now += dt.timedelta(seconds=1)
    found.end(second, "Succeeded")
    found.settle()
    assert found.record == backoff.BackoffRecord()
    assert len(found.active()) == 2


def test_a_new_controller_waits_as_long_as_the_one_before_would_have() -> None:
    found = SimulatedJob(job(backoffLimit=9))
    for _ in range(3):
        found.now += dt.timedelta(minutes=11)
        found.settle()
        found.end(found.active()[0], "Failed")
        found.settle()
    assert backoff_from_pods(found.job, tuple(found.pods.values())) == found.record == backoff.BackoffRecord(3, found.now)


def test_a_job_that_is_over_is_deleted_when_its_time_has_come() -> None:
    found = SimulatedJob(job(ttlSecondsAfterFinished=60))
    found.settle()
    found.end(found.active()[0], "Succeeded")
    assert completion.until_expiry(found.job, found.now) is None
    found.settle()
    assert completion.until_expiry(found.job, START + dt.timedelta(seconds=20)) == 40


def test_a_deadline_says_when_to_look_again() -> None:
    found = SimulatedJob(job(activeDeadlineSeconds=30))
    found.settle()
    found.now += dt.timedelta(seconds=10)
    assert found.step().requeue_after == 20
