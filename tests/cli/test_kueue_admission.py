"""Why Kueue does not admit a job, from its Workload."""

from __future__ import annotations

import json
from typing import Any

import pytest

from traincrew.client import clock
from traincrew.inspection import explanation, kueue_admission, observed_job, pod_waiting_reasons
from traincrew.kinds import KINDS
from traincrew.model import workloads

Object = dict[str, Any]


def job(queue: str = "main") -> observed_job.ObservedJob:
    kind = next(each for each in KINDS if each.kind == "JAXJob")
    labels = {workloads.QUEUE_NAME: queue} if queue else {}
    spec = {"jaxReplicaSpecs": {"Worker": {"template": {"spec": {}}}}, "runPolicy": {"suspend": True}}
    return observed_job.observe(kind, json.dumps({"metadata": {"name": "j", "labels": labels}, "spec": spec}).encode())


def workload(*conditions: tuple[str, str, str], active: bool = True) -> workloads.Workload:
    listed = [{"type": name, "status": status, "message": message} for name, status, message in conditions]
    body: Object = {
        "metadata": {"name": "jaxjob-j", "namespace": "team"},
        "spec": {"active": active, "queueName": "main"},
        "status": {"conditions": listed},
    }
    return workloads.decode.decode(json.dumps(body).encode())


WAITS = "the job is suspended and waits in queue main of Kueue"
NO_QUOTA = ("QuotaReserved", "False", "insufficient quota for cpu")
RESERVED = ("QuotaReserved", "True", "Quota reserved in ClusterQueue main")


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        pytest.param(workload(), WAITS, id="Kueue has not looked at it"),
        pytest.param(workload(NO_QUOTA), f"{WAITS}: insufficient quota for cpu", id="no quota"),
        pytest.param(workload(RESERVED), f"{WAITS}: quota is reserved, and the admission checks", id="admission checks"),
        pytest.param(workload(RESERVED, ("Evicted", "True", "Preempted to")), f"{WAITS}: Preempted to", id="eviction"),
        pytest.param(workload(RESERVED, ("Admitted", "True", "")), f"{WAITS}: the job is admitted", id="before the resume"),
        pytest.param(workload(active=False), "the job is suspended and its Workload jaxjob-j is deactivated", id="deactivated"),
        pytest.param(None, "the job is suspended and names queue main of Kueue, which has no Workload", id="no Workload"),
    ],
)
def test_the_workload_says_why_a_job_waits(found: workloads.Workload | None, cause: str) -> None:
    evidence = explanation.Evidence(admission=kueue_admission.Admission(True, found))
    shown = explanation.explain(job(), evidence, clock.now())
    assert shown.causes[0].startswith(cause)
    assert ("traincrew resume" in shown.remedies[0]) is (found is None)


def test_the_missing_right_to_read_workloads_is_reported() -> None:
    shown = explanation.explain(job(), explanation.Evidence(admission=kueue_admission.Admission(False)), clock.now())
    assert shown.causes == (WAITS,)
    assert "the right to read Workloads" in shown.remedies[0]


def test_a_suspended_job_without_a_queue_is_resumed_by_its_user() -> None:
    assert "traincrew resume jaxjob/j" in pod_waiting_reasons.job_reason(job(""))
    assert "traincrew resume" not in pod_waiting_reasons.job_reason(job())
