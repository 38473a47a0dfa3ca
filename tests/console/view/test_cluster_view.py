"""Nodes, queues, ranks, progress and patches of metrics, from objects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.console.view.test_view import LABELS, observed, stored

from traincrew import errors
from traincrew.console.contract.metrics import OutputSeries
from traincrew.console.view import job_progress, metric_patches, nodes, pods, queues, ranks, replica_variables
from traincrew.console.view.points import Counted
from traincrew.inspection import observed_job
from traincrew.kinds import KINDS


def shown(name: str, *, labels: dict[str, str], env: dict[str, str] | None = None, **spec: Any) -> pods.ShownPod:
    container = {"name": spec.pop("container", "pytorch"), "env": [{"name": k, "value": v} for k, v in (env or {}).items()]}
    document = {
        "metadata": {"name": name, "namespace": "n", "uid": name, "labels": labels},
        "spec": {"nodeName": "a", "containers": [container | spec]},
        "status": {"phase": "Running"},
    }
    return pods.decode(json.dumps(document).encode())


def test_devices_are_listed_one_by_one_with_who_holds_them() -> None:
    raw = {
        "metadata": {"name": "a"},
        "status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    listed = [
        shown("j-worker-0", labels=LABELS, resources={"requests": {"nvidia.com/gpu": "2"}}),
        shown("alone", labels={}, resources={"requests": {"nvidia.com/gpu": 1}}),
    ]
    found = nodes.node(json.dumps(raw).encode(), listed, {"pytorchjob-controller": "pytorchjob"}, {"a": {"cpu": "250m"}})
    assert found.used == {"cpu": "250m"}
    (devices,) = found.devices
    assert (devices.resource, devices.allocatable, devices.requested) == ("nvidia.com/gpu", 4, 3)
    assert [(each.kind, each.job, each.replica, each.pod) for each in devices.devices] == [
        ("pytorchjob", "j", "worker-0", "j-worker-0"),
        ("pytorchjob", "j", "worker-0", "j-worker-0"),
        ("", "", "", "alone"),
        ("", "", "", ""),
    ]


def test_a_node_that_declares_thousands_of_devices_lists_some() -> None:
    raw = {"metadata": {"name": "a"}, "status": {"allocatable": {"x.com/slices": "100000"}}}
    (devices,) = nodes.node(json.dumps(raw).encode(), [], {}, {}).devices
    assert (devices.allocatable, len(devices.devices)) == (100_000, nodes.MAX_DEVICES)


def test_the_rank_is_that_of_the_environment_of_the_pod() -> None:
    job = observed(stored("Running"))
    assert ranks.rank(job, shown("j-worker-0", labels=LABELS, env={"RANK": "3"})) == 3
    assert ranks.rank(job, shown("j-worker-0", labels=LABELS, env={})) is None
    assert ranks.rank(job, shown("j-worker-0", labels=LABELS, env={"RANK": "x"})) is None


def mpi(slots: int) -> observed_job.ObservedJob:
    kind = next(each for each in KINDS if each.kind == "MPIJob")
    document = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": {"name": "j", "namespace": "n"},
        "spec": {"slotsPerWorker": slots, "mpiReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {}}}}},
    }
    return observed_job.observe(kind, json.dumps(document).encode())


@pytest.mark.parametrize(("slots", "role", "rank"), [(1, "worker", 1), (2, "worker", None), (1, "launcher", None)])
def test_ranks_of_mpi_are_those_of_the_host_file(slots: int, role: str, rank: int | None) -> None:
    labels = {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": "1"}
    assert ranks.rank(mpi(slots), shown(f"j-{role}-1", labels=labels)) == rank


@pytest.mark.parametrize(
    ("text", "fraction", "shown_text"),
    [
        ("71%", 0.71, "71%"),
        ("12.5 % warming up", 0.125, "warming up"),
        ("412/824", 0.5, "step 412 of 824"),
        ("3/4 epochs", 0.75, "epochs"),
        ("900%", 1.0, "900%"),
        ("soon", None, ""),
        ("1/0", None, ""),
    ],
)
def test_progress_of_the_annotation(text: str, fraction: float | None, shown_text: str) -> None:
    found = job_progress.of_annotation({job_progress.ANNOTATION: text})
    assert (found.fraction if found else None, found.text if found else "") == (fraction, shown_text)


def workload(name: str, *, priority: int = 0, created: str = "2026-11-17T12:00:00Z", **conditions: str) -> queues.StoredWorkload:
    document = {
        "metadata": {
            "name": f"w-{name}",
            "namespace": "n",
            "creationTimestamp": created,
            "ownerReferences": [{"kind": "PyTorchJob", "name": name, "controller": True}],
        },
        "spec": {
            "queueName": "team",
            "priority": priority,
            "podSets": [{"count": 2, "template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "1500m"}}}]}}}],
        },
        "status": {
            "conditions": [
                {"type": key, "status": value, "reason": "Pending", "message": "no quota"} for key, value in conditions.items()
            ]
        },
    }
    return queues.workload_decoder.decode(json.dumps(document).encode())[0]


def queue(**parts: Any) -> queues.StoredQueue:
    return queues.queue_decoder.decode(json.dumps({"metadata": {"name": "team", "namespace": "n"}, **parts}).encode())[0]


def test_a_queue_of_kueue_has_its_quota_and_its_jobs_in_the_order_of_their_turn() -> None:
    local = queue(spec={"clusterQueue": "all"}, status={"pendingWorkloads": 2, "admittedWorkloads": 1})
    cluster = queue(
        spec={
            "cohort": "c",
            "queueingStrategy": "StrictFIFO",
            "resourceGroups": [{"flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 9}]}]}],
        },
        status={"flavorsUsage": [{"name": "f", "resources": [{"name": "cpu", "total": "4", "borrowed": "1"}]}]},
    )
    listed = [
        workload("late", created="2026-11-17T13:00:00Z", QuotaReserved="False"),
        workload("urgent", priority=5, created="2026-11-17T14:00:00Z", QuotaReserved="False"),
        workload("runs", QuotaReserved="True", Admitted="True"),
        workload("done", Finished="True"),
    ]
    found = queues.kueue(local, cluster, listed)
    assert (found.cluster_queue, found.cohort, found.strategy, found.active) == ("all", "c", "StrictFIFO", True)
    (cpu,) = found.resources
    assert (cpu.flavor, cpu.quota, cpu.used, cpu.borrowed, cpu.wanted) == ("f", "9", "4", "1", "6")
    assert [(each.kind, each.name, each.admitted, each.position) for each in found.jobs] == [
        ("pytorchjob", "runs", True, None),
        ("pytorchjob", "urgent", False, 1),
        ("pytorchjob", "late", False, 2),
    ]
    assert (found.jobs[1].reason, found.jobs[1].message) == ("Pending", "no quota")


def test_a_queue_whose_quota_may_not_be_read_has_its_own_usage() -> None:
    usage = [{"name": "f", "resources": [{"name": "cpu", "total": "4"}]}]
    found = queues.kueue(queue(status={"flavorUsage": usage}), None, [])
    assert [(each.resource, each.quota, each.used) for each in found.resources] == [("cpu", "", "4")]


def test_a_queue_of_volcano() -> None:
    stored_queue = queue(spec={"capability": {"cpu": "8"}}, status={"state": "Closed", "allocated": {"cpu": "2"}})
    group = {
        "metadata": {"name": "g", "namespace": "n", "ownerReferences": [{"kind": "MPIJob", "name": "m", "controller": True}]},
        "spec": {"queue": "team", "minResources": {"cpu": "3"}},
        "status": {"phase": "Pending"},
    }
    found = queues.volcano(stored_queue, [queues.workload_decoder.decode(json.dumps(group).encode())[0]])
    assert (found.active, found.message, found.pending) == (False, "the queue is Closed", 1)
    assert [(each.quota, each.used, each.wanted) for each in found.resources] == [("8", "2", "3")]
    assert [(each.kind, each.name, each.position) for each in found.jobs] == [("mpijob", "m", 1)]


def points(number: int, thinned: int = 0) -> Counted[OutputSeries]:
    times = list(range(number))
    return Counted(
        OutputSeries(name="loss", replica="r", times=times, values=list(map(float, times)), steps=[None] * number, line="l"),
        thinned,
    )


def test_a_patch_of_metrics_has_the_new_points_alone() -> None:
    seen = metric_patches.seen([points(3)])
    (new,) = metric_patches.new_points(seen, [points(5)])
    assert (new.times, new.values, new.steps, new.line) == ([3, 4], [3.0, 4.0], [None, None], "l")
    assert metric_patches.new_points(seen, [points(3)]) == []
    assert metric_patches.is_continued(seen, [points(5)])
    assert not metric_patches.is_continued(seen, [points(5, thinned=1)])


def test_a_passport_has_the_variables_of_each_replica_before_the_job_exists() -> None:
    container = {"name": "pytorch", "image": "x"}
    role = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    document = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "p"},
        "spec": {"pytorchReplicaSpecs": {"Master": role, "Worker": {**role, "replicas": 2}}},
    }
    (found,) = replica_variables.of_manifest(json.dumps(document)).jobs
    ranks_of = {each.replica: {env.name: env.value for env in each.env} for each in found.replicas}
    assert {name: env["RANK"] for name, env in ranks_of.items()} == {"master-0": "0", "worker-0": "1", "worker-1": "2"}
    assert {(env["WORLD_SIZE"], env["MASTER_ADDR"]) for env in ranks_of.values()} == {("3", "p-master-0")}
    with pytest.raises(errors.ManifestError, match="replicas"):
        replica_variables.of_manifest(json.dumps(document).replace('"replicas": 2', '"replicas": "two"'))


@pytest.mark.parametrize("kind", [each.kind for each in KINDS])
def test_every_kind_has_a_passport(kind: str) -> None:
    found = next(each for each in KINDS if each.kind == kind)
    specs = {
        role.name: {"replicas": 1, "template": {"spec": {"containers": [{"name": found.pods.container, "image": "x"}]}}}
        for role in found.roles
        if role.name not in ("Chief", "Evaluator")
    }
    document = {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "p"},
        "spec": {found.replicas_field: specs},
    }
    (passport,) = replica_variables.of_manifest(json.dumps(document)).jobs
    assert passport.total == len(passport.replicas) == len(specs)
