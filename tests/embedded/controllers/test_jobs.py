"""The decisions of the Job controller."""

from __future__ import annotations

import datetime as dt

import msgspec
from tests.embedded.controllers.simulated_job import START, Object, SimulatedJob, job

from traincrew.embedded.controllers.jobs import backoff, completion, plan, pod_indexes, policies
from traincrew.embedded.controllers.jobs.controller import backoff_from_pods
from traincrew.embedded.controllers.pods import Pod


def test_a_pod_of_an_indexed_job_has_its_index() -> None:
    simulated = SimulatedJob(job(completionMode="Indexed", completions=2, parallelism=2))
    [first, second] = simulated.step().create
    assert first["metadata"]["generateName"] == "j-0-"
    assert second["metadata"]["labels"][pod_indexes.INDEX] == second["metadata"]["annotations"][pod_indexes.INDEX] == "1"
    assert second["spec"]["hostname"] == "j-1"
    [variable] = second["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"


def test_building_a_pod_does_not_change_the_job() -> None:
    given = job(completionMode="Indexed", completions=2, parallelism=2)
    before = msgspec.json.encode(given)
    SimulatedJob(given).settle()
    assert msgspec.json.encode({**given, "status": None}) == msgspec.json.encode({**msgspec.json.decode(before), "status": None})


def test_a_job_managed_by_another_controller_is_ignored() -> None:
    assert SimulatedJob(job(managedBy="example.com/other")).step() == plan.Step()


def pod(phase: str = "Failed", code: int = 1) -> Pod:
    status = {"phase": phase, "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": code}}}]}
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n"}, "status": status}, Pod)


def rules(*each: Object) -> Object:
    return {"podFailurePolicy": {"rules": list(each)}}


def test_the_first_rule_that_matches_decides() -> None:
    ignored = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}}
    fails = {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}
    assert not policies.match_failure_policy(rules(ignored, fails), pod()).counts
    result = policies.match_failure_policy(rules(ignored, fails), pod(code=3))
    assert result.message == "Container c for pod n/p failed with exit code 3 matching FailJob rule at index 1"


def test_a_rule_of_another_container_does_not_match() -> None:
    rule = {"action": "Ignore", "onExitCodes": {"containerName": "other", "operator": "In", "values": [1]}}
    assert policies.match_failure_policy(rules(rule), pod()) == policies.FailureAction()


def test_a_success_resets_the_backoff() -> None:
    simulated = SimulatedJob(job(completions=3, parallelism=2, backoffLimit=9))
    simulated.settle()
    first, second = simulated.active()
    simulated.end(first, "Failed")
    simulated.settle()
    simulated.now += dt.timedelta(seconds=1)
    simulated.end(second, "Succeeded")
    simulated.settle()
    assert simulated.record == backoff.BackoffRecord()
    assert len(simulated.active()) == 2


def test_a_restarted_controller_continues_the_backoff() -> None:
    simulated = SimulatedJob(job(backoffLimit=9))
    for _ in range(3):
        simulated.now += dt.timedelta(minutes=11)
        simulated.settle()
        simulated.end(simulated.active()[0], "Failed")
        simulated.settle()
    assert (
        backoff_from_pods(simulated.job, tuple(simulated.pods.values()))
        == simulated.record
        == backoff.BackoffRecord(3, simulated.now)
    )


def test_a_finished_job_expires_after_its_ttl() -> None:
    simulated = SimulatedJob(job(ttlSecondsAfterFinished=60))
    simulated.settle()
    simulated.end(simulated.active()[0], "Succeeded")
    assert completion.until_expiry(simulated.job, simulated.now) is None
    simulated.settle()
    assert completion.until_expiry(simulated.job, START + dt.timedelta(seconds=20)) == 40


def test_a_deadline_determines_the_next_reconcile() -> None:
    simulated = SimulatedJob(job(activeDeadlineSeconds=30))
    simulated.settle()
    simulated.now += dt.timedelta(seconds=10)
    assert simulated.step().requeue_after == 20
