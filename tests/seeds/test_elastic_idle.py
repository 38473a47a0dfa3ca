"""Horovod Elastic on idle devices: the seed's job with one annotation grows by itself and gives back to a job that waits."""

from __future__ import annotations

import itertools
import json
import pathlib
import re

import pytest
import yaml
from tests.cluster.api import Object, eventually
from tests.seeds import launcher_logs
from tests.seeds.clusters import EXAMPLES, TIMEOUT_SECONDS, Cluster

JOB = "tensorflow-mnist-elastic"
LAUNCHER = f"{JOB}-launcher"
DEVICE = "nvidia.com/vgpu"
"""The node has four of them."""
BUDGET = ("--settle", "1", "--resize-budget", "1")
"""With the default budget, a job grows a second time after five minutes. tests/sharing has the budget itself."""
_STEP = re.compile(r"rank=0 world=(\d+) host=\S+ batch=(\d+) ")


@pytest.fixture(scope="module")
def cluster_flags() -> tuple[str, ...]:
    return BUDGET


def submit(cluster: Cluster, folder: pathlib.Path) -> None:
    create(cluster, folder, seed_job())


def seed_job() -> Object:
    """The seed's job with the annotation, a device for each worker, and enough batches for the whole test."""
    job: Object = yaml.safe_load((EXAMPLES / "seeds/001-tensorflow-mnist-elastic-mpijob.yaml").read_text())
    job["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": "idle"}
    roles = job["spec"]["mpiReplicaSpecs"]
    roles["Worker"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {DEVICE: 1}}
    roles["Launcher"]["template"]["spec"]["containers"][0]["env"] = [{"name": "EXAMPLE_BATCHES", "value": "1000000"}]
    return job


def create(cluster: Cluster, folder: pathlib.Path, job: Object) -> None:
    path = folder / f"{job['metadata']['name']}.yaml"
    path.write_text(yaml.safe_dump(job))
    cluster.say(f"kubectl create -f {path.name}")
    cluster.kubectl("create", "-f", str(path))


def waiting_job(workers: int) -> Object:
    """A TFJob that holds its devices until it is deleted."""
    command = {"name": "tensorflow", "image": "busybox", "command": ["sleep", "3600"]}
    container: Object = {**command, "resources": {"limits": {DEVICE: 1}}}
    spec = {"replicas": workers, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "mnist"},
        "spec": {"tfReplicaSpecs": {"Worker": spec}},
    }


def elastic(cluster: Cluster) -> Object:
    found: Object = cluster.get("mpijob", JOB)["status"].get("elastic", {})
    return found


def phases(cluster: Cluster, job: str) -> list[str]:
    pods = json.loads(cluster.kubectl("get", "pods", "-l", f"training.kubeflow.org/job-name={job}", "-o", "json"))["items"]
    return [pod["status"]["phase"] for pod in pods]


def events(cluster: Cluster) -> str:
    return cluster.kubectl("get", "events", "--field-selector", f"involvedObject.name={JOB}")


def assert_no_batch_is_lost(log: str) -> None:
    batches = [int(batch) for _, batch in _STEP.findall(log)]
    falls = [(before, after) for before, after in itertools.pairwise(batches) if after < before]
    assert not falls, f"batches were lost: {falls}\n{log}"
    assert batches


@pytest.mark.core
def test_it_grows_into_idle_devices_and_gives_them_back_to_a_job_that_waits(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    submit(cluster, tmp_path)
    # The launcher is up when any rank trains: on a slow machine the third worker comes before the first batch.
    cluster.says(LAUNCHER, r"world=[23] host=\S+ batch=\d+ ")
    before = launcher_logs.launcher(cluster, LAUNCHER)
    launcher_logs.wait_for_training(cluster, LAUNCHER, JOB, 3)
    assert launcher_logs.launcher(cluster, LAUNCHER) == before
    assert elastic(cluster)["members"] == "0-2"
    assert cluster.get("mpijob", JOB)["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
    seen = cluster.log(LAUNCHER)
    create(cluster, tmp_path, waiting_job(2))
    eventually(lambda: phases(cluster, "mnist") == ["Running", "Running"], TIMEOUT_SECONDS)
    launcher_logs.says_next(cluster, LAUNCHER, seen, r"world=2 host=\S+ batch=\d+ ")
    assert elastic(cluster)["members"] == "0-1"
    said = eventually(lambda: "TFJob default/mnist" in (text := events(cluster)) and text)
    # "needed": the scheduler has preempted the worker before the operator removed it.
    assert re.search(r"GaveBack.*scaled from 3 to 2 workers: TFJob default/mnist (waits for|needed) ", said), said
    assert launcher_logs.launcher(cluster, LAUNCHER) == before
    assert "disruptions" not in cluster.get("mpijob", JOB)["status"].get("restarts", {})
    seen = cluster.log(LAUNCHER)
    cluster.delete("tfjob/mnist")
    launcher_logs.says_next(cluster, LAUNCHER, seen, r"world=3 host=\S+ batch=\d+ ")
    assert launcher_logs.launcher(cluster, LAUNCHER) == before
    assert_no_batch_is_lost(cluster.log(LAUNCHER))
    cluster.delete(f"mpijob/{JOB}")
