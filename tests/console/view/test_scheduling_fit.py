"""Whether a job would be scheduled: the scheduler of one machine, asked with pods that do not exist."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
import yaml

from traincrew import errors
from traincrew.console.contract.scheduling_fit import JobFit
from traincrew.console.view import holders, manifest_jobs, scheduling_fit
from traincrew.kinds import KINDS
from traincrew.model.meta import Meta
from traincrew.scheduling import objects, pod_info
from traincrew.scheduling.decisions import Profile, SchedulingContext, single_machine_profile

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
READY = objects.Condition(type="Ready", status="True")
JAX = next(kind for kind in KINDS if kind.kind == "JAXJob")


def node(name: str, memory: str = "16Gi") -> objects.Node:
    allocatable: dict[str, str | int | float] = {"pods": "110", "cpu": "8", "memory": memory, "ephemeral-storage": "99Gi"}
    return objects.Node(metadata=Meta(name=name), status=objects.NodeStatus(allocatable=allocatable, conditions=[READY]))


def job(name: str = "j", workers: int = 2, memory: str = "4Gi", kind: str = "JAXJob", **spec: Any) -> dict[str, Any]:
    container = {
        "name": kind.removesuffix("Job").lower(),
        "image": "i",
        "command": ["x"],
        "resources": {"limits": {"memory": memory}},
    }
    role = {"replicas": workers, "template": {"spec": {"containers": [container], **spec}}}
    field = f"{kind.removesuffix('Job').lower()}ReplicaSpecs"
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name}, "spec": {field: {"Worker": role}}}


def pod(name: str, memory: str, node_name: str = "", job_name: str = "", priority: int = 0) -> pod_info.PodInfo:
    labels = (
        {"training.kubeflow.org/operator-name": JAX.controller, "training.kubeflow.org/job-name": job_name} if job_name else {}
    )
    container = {"name": "c", "resources": {"requests": {"memory": memory}}}
    meta = {"name": name, "namespace": "n", "uid": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"}
    spec = {"nodeName": node_name, "containers": [container], "priority": priority}
    return pod_info.decode(
        json.dumps({"metadata": meta, "spec": spec, "status": {"phase": "Running" if node_name else "Pending"}}).encode()
    )


def fit(manifest: dict[str, Any], *pods: pod_info.PodInfo, nodes: list[objects.Node] | None = None, **state: Any) -> JobFit:
    cluster = scheduling_fit.ObservedCluster(pods, nodes or [node("a")], SchedulingContext(now=NOW, **state), Profile())
    return scheduling_fit.of_jobs(manifest_jobs.parse(yaml.safe_dump(manifest)), cluster, "n")[0]


def test_a_job_that_fits_has_a_node_for_every_replica() -> None:
    found = fit(job(workers=3), nodes=[node("a", memory="9Gi"), node("b", memory="5Gi")])
    assert (found.verdict, found.total, found.required, found.placed) == ("fits", 3, 3, 3)
    assert {each.node: len(each.replicas) for each in found.nodes} == {"a": 2, "b": 1}
    assert sorted(name for each in found.nodes for name in each.replicas) == ["worker-0", "worker-1", "worker-2"]
    assert found.unplaced == []


def test_limits_count_as_requests_and_replicas_without_a_place_have_the_words_of_the_scheduler() -> None:
    found = fit(job(workers=6))
    assert (found.verdict, found.placed) == ("waits", 4)
    (missing,) = found.unplaced
    assert missing.replicas == ["worker-4", "worker-5"]
    assert "Insufficient memory" in missing.message


def test_pods_that_wait_already_come_first() -> None:
    assert fit(job(workers=2)).verdict == "fits"
    found = fit(job(workers=2), pod("earlier", "10Gi"))
    assert (found.verdict, found.placed) == ("waits", 1)


def test_a_job_of_a_higher_priority_preempts_pods() -> None:
    running = pod("low", "14Gi", "a", priority=-1)
    found = fit(job(workers=1, priorityClassName="high"), running, priorities={"high": 1000})
    assert (found.verdict, found.placed, found.preempted) == ("preempts", 0, ["n/low"])
    assert fit(job(workers=1), pod("same", "14Gi", "a")).verdict == "waits"


def test_an_elastic_job_fits_with_its_fewest_workers() -> None:
    document = job(workers=6, kind="PyTorchJob")
    document["spec"]["elasticPolicy"] = {"minReplicas": 2, "maxReplicas": 6}
    document["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": "idle"}
    found = fit(document)
    assert (found.total, found.placed) == (6, 4)
    assert found.required <= 6


def test_what_may_be_overcommitted_is_no_obstacle() -> None:
    document = job(workers=4, memory="1Gi")
    container = document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["resources"]["requests"] = {"cpu": "4"}
    wanted = manifest_jobs.parse(yaml.safe_dump(document))
    strict = scheduling_fit.ObservedCluster([], [node("a")], SchedulingContext(now=NOW), single_machine_profile(()))
    shared = scheduling_fit.ObservedCluster([], [node("a")], SchedulingContext(now=NOW), single_machine_profile(("cpu",)))
    assert scheduling_fit.of_jobs(wanted, strict, "n")[0].verdict == "waits"
    assert scheduling_fit.of_jobs(wanted, shared, "n")[0].verdict == "fits"


def test_a_scheduler_that_does_not_run_here_is_named() -> None:
    found = fit(job(workers=1, schedulerName="other"))
    assert (found.verdict, found.unplaced[0].message) == ("waits", 'no scheduler named "other" runs here')


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_kind_has_pods_for_all_replicas(kind: Any) -> None:
    roles = [role.name for role in kind.roles if role.name != "Chief"]  # a TFJob has a chief or a master
    template = {"spec": {"containers": [{"name": kind.pods.container or "c", "image": "i", "command": ["x"]}]}}
    specs = {role: {"replicas": 1, "template": template} for role in roles}
    document = {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind.kind,
        "metadata": {"name": "j"},
        "spec": {kind.replicas_field: specs},
    }
    found = fit(document)
    assert (found.verdict, found.placed) == ("fits", len(roles))


def test_pods_of_the_job_stay_where_they_are_and_its_surplus_is_not_counted_twice() -> None:
    own = [pod("j-worker-0", "4Gi", "b", "j"), pod("j-worker-1", "4Gi", "", "j"), pod("j-worker-2", "4Gi", "", "j")]
    document = scheduling_fit.changed(JAX, job(workers=3), 2, None)
    found = fit(document, *own, nodes=[node("a", memory="4Gi"), node("b", memory="4Gi")])
    assert {each.node: each.replicas for each in found.nodes} == {"b": ["worker-0"], "a": ["worker-1"]}


def test_changes_are_made_to_a_copy() -> None:
    document = job(workers=3, priority=5)
    changed = scheduling_fit.changed(JAX, document, 1, "high")
    assert document == job(workers=3, priority=5)
    worker = changed["spec"]["jaxReplicaSpecs"]["Worker"]
    assert (worker["replicas"], worker["template"]["spec"]["priorityClassName"]) == (1, "high")
    assert "priority" not in worker["template"]["spec"]


def test_the_most_workers_that_start() -> None:
    for limit in range(12):
        assert scheduling_fit.startable(lambda number, limit=limit: number <= limit, 10) == (min(limit, 10) or None)  # type: ignore[misc]


def test_other_jobs_that_hold_resources() -> None:
    pods = [
        pod("a-worker-0", "4Gi", "a", "a"),
        pod("b-worker-0", "1Gi", "a", "b"),
        pod("b-worker-1", "1Gi", "a", "b"),
        pod("x", "1Gi", "a"),
    ]
    found = holders.others([*pods, pod("c-worker-0", "1Gi", "", "c")], "n/jaxjob/own")
    assert [(each.name, each.pods, each.requests) for each in found] == [("b", 2, {"memory": "2Gi"}), ("a", 1, {"memory": "4Gi"})]
    assert [each.name for each in holders.others(pods, "n/jaxjob/b")] == ["a"]


def test_a_job_that_is_too_large_is_refused() -> None:
    with pytest.raises(errors.SettingsError, match="5000 replicas"):
        fit(job(workers=5000))
