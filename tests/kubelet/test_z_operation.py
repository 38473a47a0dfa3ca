"""Upgrade and removal of the operator with a job in flight. These tests come last: the operator is gone after them."""

from __future__ import annotations

from tests.cluster.api import Object, eventually
from tests.kubelet.installed_operator import InstalledOperator
from tests.kubelet.jobs import LIMIT, NAMESPACE, UNTIL_FINISHED, Jobs, job, replicas


def _events(jobs: Jobs, name: str) -> list[tuple[str, str]]:
    found = (each for each in jobs.api.all("events", NAMESPACE) if each["involvedObject"]["name"] == name)
    return sorted((each["reason"], each["message"]) for each in found)


def _started(jobs: Jobs, name: str) -> dict[str, str]:
    jobs.create(job("JAXJob", name, {"Worker": replicas(2, "jax", "sh", "-c", UNTIL_FINISHED)}))
    jobs.running(f"{name}-worker-0", f"{name}-worker-1")
    jobs.wait("JAXJob", name, "Running")
    return jobs.pods(name)


def test_a_rolling_upgrade_restarts_no_pod_and_repeats_no_event(jobs: Jobs, operator: InstalledOperator) -> None:
    before = _started(jobs, "upgraded")
    events = _events(jobs, "upgraded")
    operator.upgrade("next")
    assert jobs.pods("upgraded") == before
    jobs.finish("upgraded-worker-0", "upgraded-worker-1")
    jobs.wait("JAXJob", "upgraded", "Succeeded")
    assert jobs.pods("upgraded") == before
    after = _events(jobs, "upgraded")
    assert [each for each in after if each in events] == events
    assert len(after) == len(set(after))


def test_removal_of_the_operator_keeps_jobs_and_pods(jobs: Jobs, operator: InstalledOperator) -> None:
    before = _started(jobs, "kept")
    operator.remove()
    eventually(lambda: operator.pods() == [], LIMIT)
    assert jobs.pods("kept") == before
    found: Object = jobs.api.get("jaxjobs", NAMESPACE, "kept")
    assert "deletionTimestamp" not in found["metadata"]
    jobs.finish("kept-worker-0", "kept-worker-1")
    eventually(lambda: jobs.pod("kept-worker-0")["status"]["phase"] == "Succeeded", LIMIT)
