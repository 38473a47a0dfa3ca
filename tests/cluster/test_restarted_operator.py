"""A restarted operator does not change a settled job."""

from __future__ import annotations

import re
import signal

import pytest
from tests.cluster import audit, jobs_with_leader, manifests
from tests.cluster.api import Object, eventually
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.operators import OperatorProcess
from tests.cluster.submitted_job import SubmittedJob

METRICS = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]


@pytest.mark.checklist(182)
def test_an_operator_that_was_stopped_or_killed_writes_nothing_when_it_comes_back(isolated: IsolatedNamespace) -> None:
    with isolated.operator() as first:
        jobs = _jobs_in_every_state(isolated)
        _settled(first, 1)
        first.stop(signal.SIGTERM)
    before = _everything(isolated, jobs)
    for ending in (signal.SIGKILL, signal.SIGTERM):
        since = isolated.kube.audit_size()
        with isolated.operator() as back:
            _settled(back, len(jobs))
            back.stop(ending)
        assert _writes(isolated, since) == []
    assert _everything(isolated, jobs) == before


def _jobs_in_every_state(isolated: IsolatedNamespace) -> list[SubmittedJob]:
    kubelet = isolated.kubelet
    jobs = [
        *(isolated.submit(jobs_with_leader.job(kind, 2, name=f"running-{kind.lower()}")) for kind in jobs_with_leader.EVERY),
        *(
            isolated.submit(jobs_with_leader.job(kind, 1, run={"cleanPodPolicy": "None"}, name=f"done-{kind.lower()}"))
            for kind in jobs_with_leader.EVERY
        ),
        isolated.submit(manifests.job("MPIJob", "ssh", "v2beta1", Launcher=1, Worker=1, run={"suspend": True})),
        isolated.submit(jobs_with_leader.job("PyTorchJob", name="pending")),
        isolated.submit(jobs_with_leader.job("PyTorchJob", run={"suspend": True}, name="suspended")),
        isolated.submit(jobs_with_leader.job("PyTorchJob", policy="ExitCode", name="restarting")),
        isolated.submit(jobs_with_leader.job("PyTorchJob", policy="Never", run={"cleanPodPolicy": "All"}, name="failed")),
        isolated.submit(jobs_with_leader.job("PyTorchJob", policy="Sometimes", name="invalid")),
        isolated.submit(manifests.job("PyTorchJob", "elastic", Worker=2, spec={"elasticPolicy": {"metrics": METRICS}})),
    ]
    for kind in jobs_with_leader.EVERY:
        kubelet.run(
            *jobs_with_leader.pods(kind, 2, f"running-{kind.lower()}"), *jobs_with_leader.pods(kind, 1, f"done-{kind.lower()}")
        )
        kubelet.succeed(jobs_with_leader.leader(kind, f"done-{kind.lower()}"))
    kubelet.run("restarting-master-0", "restarting-worker-0", "elastic-worker-0", "elastic-worker-1")
    kubelet.fail("restarting-master-0", code=137)
    kubelet.run("failed-master-0", "failed-worker-0", bind=False)
    kubelet.fail("failed-worker-0")
    wanted = {"running": "Running", "done": "Succeeded", "failed": "Failed", "invalid": "Failed", "suspended": "Suspended",
              "restarting": "Restarting", "elastic": "Running", "pending": "Created", "ssh": "Suspended"}  # fmt: skip
    for job in jobs:
        job.becomes(wanted[job.name.partition("-")[0]])
    # What no scheduler has looked at is reported after a while, which here would be a change for no other reason than time.
    for name in ("pending-master-0", "pending-worker-0", "restarting-master-0"):
        kubelet.pod(name)
        kubelet.unschedulable(name, "no node is free")
    return jobs


def _settled(operator: OperatorProcess, jobs: int) -> None:
    """Every job has been looked at, and no work has been done for a moment: the count of looks stands still."""
    counts: list[float] = []

    def quiet() -> bool:
        text = operator.metrics()
        looks = sum(float(n) for n in re.findall(r"^traincrew_reconcile_seconds_count\{.*\} (\S+)$", text, re.MULTILINE))
        depth = float(re.findall(r"^traincrew_queue_depth (\S+)$", text, re.MULTILINE)[0])
        counts.append(looks)
        return looks >= jobs and depth == 0 and len(counts) > 20 and len(set(counts[-20:])) == 1

    eventually(quiet)


def _everything(isolated: IsolatedNamespace, jobs: list[SubmittedJob]) -> Object:
    found: Object = {job.name: job.status for job in jobs}
    for plural in ("pods", "services", "configmaps", "roles", "secrets", "horizontalpodautoscalers", "jobs"):
        found[plural] = {
            entry["metadata"]["name"]: (entry["metadata"]["uid"], entry["metadata"]["resourceVersion"])
            for entry in isolated.api.all(plural, isolated.namespace)
        }
    found["events"] = {entry["metadata"]["name"] for entry in isolated.api.all("events", isolated.namespace)}
    return found


def _writes(isolated: IsolatedNamespace, since: int) -> list[str]:
    """What the operator has tried to write, whatever came of it.

    Secrets are the exception: it may not list them, so it finds out by an attempt to create one that it is there. A review of
    its own rights stores nothing.
    """
    return [
        f"{entry['verb']} {entry['requestURI']}: {entry['responseStatus']['code']}"
        for entry in audit.requests(isolated.kube, "kubeflow:traincrew", since)
        if entry["verb"] not in ("get", "list", "watch")
        and entry["objectRef"]["resource"] != "selfsubjectaccessreviews"
        and (entry["objectRef"]["resource"], entry["responseStatus"]["code"]) != ("secrets", 409)
    ]
