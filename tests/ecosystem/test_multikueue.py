"""Kueue sends a job to another cluster (MultiKueue): `managedBy` leaves it to Kueue here, and traincrew runs it there."""

from __future__ import annotations

import contextlib
import functools
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.cluster import installed_operators, jobs_with_leader, operators
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.ecosystem import cluster_with_controllers, kueue
from tests.ecosystem.test_go_operators import conditions
from tools.kube import cluster

NAMESPACE = "default"
LONG = 90.0


class Clusters(NamedTuple):
    manager: cluster.Cluster
    worker: cluster.Cluster


@pytest.fixture
def clusters(tmp_path: pathlib.Path) -> Iterator[Clusters]:
    with contextlib.ExitStack() as stack:
        started = Clusters(*(stack.enter_context(cluster_with_controllers.started()) for _ in Clusters._fields))
        for name, kube in zip(Clusters._fields, started, strict=True):
            (tmp_path / name).mkdir()
            stack.enter_context(kueue.running(kube, tmp_path / name))
            stack.enter_context(operators.running(cluster_with_controllers.account(kube)))
        installed_operators.apply(started.worker, *kueue.queues(3, NAMESPACE))
        checks = kueue.multikueue("elsewhere", started.worker.kubeconfig.read_text())
        installed_operators.apply(started.manager, *checks, *kueue.queues(3, NAMESPACE, "elsewhere"))
        yield started


def is_active(api: Api) -> bool:
    found = api.call("GET", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/default")
    return any(
        each["type"] == "Active" and each["status"] == "True" for each in (found.get("status") or {}).get("conditions", ())
    )


def job() -> Object:
    body = jobs_with_leader.job("MPIJob", 1)
    body["apiVersion"] = "kubeflow.org/v2beta1"
    body["metadata"]["labels"] = {kueue.QUEUE_NAME: "main"}
    for spec in body["spec"]["mpiReplicaSpecs"].values():
        spec["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return body


def launcher(api: Api) -> Any:
    return next((name for name in sorted(api.names("pods", NAMESPACE)) if name.startswith("j-launcher")), None)


def run_policy(api: Api) -> Object:
    found: Object = api.get("mpijobs", NAMESPACE, "j", version="v2beta1")["spec"]["runPolicy"]
    return found


def test_a_job_is_left_to_kueue_and_runs_in_the_cluster_that_kueue_chooses(clusters: Clusters) -> None:
    here, there = Api(clusters.manager.kubeconfig), Api(clusters.worker.kubeconfig)
    for api in (here, there):
        eventually(functools.partial(is_active, api), LONG)
    here.create(NAMESPACE, job())
    assert run_policy(here)["managedBy"] == kueue.MULTIKUEUE, "the webhook of Kueue sets it"

    kubelet = FakeKubelet(there, NAMESPACE)
    eventually(lambda: there.find("pods", NAMESPACE, "j-worker-0"), LONG, "the job does not run in the other cluster")
    assert "managedBy" not in run_policy(there)
    kubelet.run("j-worker-0")
    started = eventually(lambda: launcher(there), LONG)
    kubelet.run(started)
    eventually(lambda: "Running" in conditions(here, "MPIJob"), LONG, "Kueue does not copy the status")
    consistently(lambda: here.names("pods", NAMESPACE) == set(), 3)
    kubelet.succeed(started)
    eventually(lambda: "Succeeded" in conditions(here, "MPIJob"), LONG)
    ours = [
        entry["requestURI"]
        for entry in clusters.manager.audit()
        if "(operator)" in str(entry.get("userAgent"))
        and entry["verb"] not in ("get", "list", "watch")
        and (entry.get("objectRef") or {}).get("namespace") == NAMESPACE
    ]
    assert ours == [], "traincrew does not act on a job that Kueue manages"
