"""Twenty random faults while real Horovod trains on idle devices: the job does not fail, and training goes on."""

from __future__ import annotations

import pathlib
import time

import pytest
from tests.cluster.api import Object, RejectedRequest, eventually
from tests.faults import fault_lists
from tests.faults.fault_lists import Fault
from tests.seeds import launcher_logs, test_elastic_idle, test_elastic_losses
from tests.seeds.clusters import TIMEOUT_SECONDS, Cluster
from tests.seeds.test_elastic_idle import JOB, LAUNCHER

KINDS = ("kill a worker", "delete a worker", "evict a worker", "kill the daemon", "start another job", "scale a job")
LABELS = f"training.kubeflow.org/job-name={JOB},training.kubeflow.org/replica-type=worker"
BUDGET = test_elastic_idle.BUDGET


@pytest.fixture(scope="module")
def cluster_flags() -> tuple[str, ...]:
    return BUDGET


def submit(cluster: Cluster, folder: pathlib.Path) -> None:
    job = test_elastic_idle.seed_job()
    for role in job["spec"]["mpiReplicaSpecs"].values():
        role["restartPolicy"] = "OnFailure"
    test_elastic_idle.create(cluster, folder, job)


def worker(cluster: Cluster, fault: Fault) -> Object | None:
    """A running worker that is not terminating."""
    pods = sorted(cluster.api.all("pods", "default", LABELS), key=lambda pod: str(pod["metadata"]["name"]))
    found = [pod for pod in pods if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]]
    return found[fault.target % len(found)] if found else None


def inject(cluster: Cluster, folder: pathlib.Path, fault: Fault) -> str:
    if fault.kind == "kill the daemon":
        cluster.machine.kill()
        cluster.up()
        return "started again"
    if fault.kind == "scale a job":
        launcher_logs.patch(cluster, JOB, workers := 1 + fault.size % 3)
        return f"{workers} workers"
    if fault.kind == "start another job":
        if cluster.api.find("tfjobs", "default", "mnist") is not None:
            cluster.kubectl("delete", "tfjob", "mnist", "--wait=false")
            return "the other job ends instead"
        test_elastic_idle.create(cluster, folder, test_elastic_idle.waiting_job(fault.size % 3 + 1))
        return f"{fault.size % 3 + 1} devices"
    pod = worker(cluster, fault)
    return disturb(cluster, fault.kind, str(pod["metadata"]["name"])) if pod is not None else "no worker runs"


def disturb(cluster: Cluster, kind: str, name: str) -> str:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
    try:
        if kind == "kill a worker":
            test_elastic_losses.kill_init(cluster, name)
        elif kind == "delete a worker":
            cluster.api.delete("pods", "default", name)
        else:
            cluster.api.call("POST", f"/api/v1/namespaces/default/pods/{name}/eviction", body)
    except (RejectedRequest, OSError, AssertionError) as error:  # it has ended meanwhile
        return f"{name} is gone: {error}"
    return name


def conditions(cluster: Cluster) -> set[str]:
    found = cluster.get("mpijob", JOB)["status"]["conditions"]
    return {each["type"] for each in found if each["status"] == "True"}


@pytest.mark.parametrize("seed", fault_lists.seeds()[:1])
def test_horovod_survives_random_faults(cluster: Cluster, tmp_path: pathlib.Path, seed: int) -> None:
    submit(cluster, tmp_path)
    cluster.says(LAUNCHER, r"world=\d host=\S+ batch=\d+ ")  # it may have grown before it trains
    report = []
    for fault in fault_lists.draw(seed, KINDS):
        report.append(f"{fault}: {inject(cluster, tmp_path, fault)}")
        cluster.say(report[-1])
        time.sleep(2 * fault.pause)
        assert "Failed" not in conditions(cluster), f"{fault_lists.SEEDS_VARIABLE}={seed}\n" + "\n".join(report)
    cluster.kubectl("delete", "tfjob", "mnist", "--wait=false", "--ignore-not-found")
    eventually(lambda: "Running" in conditions(cluster), TIMEOUT_SECONDS)
    launcher_logs.says_next(cluster, LAUNCHER, cluster.log(LAUNCHER), r"batch=\d+ ", r"batch=\d+ ")
    status = cluster.get("mpijob", JOB)["status"]
    cluster.say(f"{status.get('restarts')} {status.get('workerSeconds')}")
    cluster.delete(f"mpijob/{JOB}")
