"""torchrun on idle devices: the job grows by itself, gives back to a pod that waits, and goes on from its checkpoint."""

from __future__ import annotations

import json
import pathlib

import yaml
from tests.cluster.api import eventually
from tests.seeds.clusters import EXAMPLES, TIMEOUT_SECONDS, Cluster
from tests.seeds.test_torchrun import JOB, WORKERS, assert_no_more_than_a_checkpoint_was_lost, trains

DEVICE = "nvidia.com/vgpu"
"""The node has four of them."""


def submit(cluster: Cluster, folder: pathlib.Path) -> None:
    job = yaml.safe_load((EXAMPLES / "pytorch/elastic/job.yaml").read_text())
    names = {"scaling": "idle", "checkpoint-seconds": "10"}
    job["metadata"]["annotations"] = {f"traincrew.kubeflow.org/{name}": text for name, text in names.items()}
    container = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["args"][:4] = ["--steps", "1000000", "--pause", "0.2"]
    container["resources"] = {"limits": {DEVICE: 1}}
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    cluster.kubectl("create", "-f", str(path))


def claim(cluster: Cluster, folder: pathlib.Path, devices: int) -> None:
    container = {"name": "main", "image": "busybox", "command": ["sleep", "3600"]}
    spec = {"containers": [{**container, "resources": {"limits": {DEVICE: devices}}}], "terminationGracePeriodSeconds": 1}
    path = folder / "claim.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}, "spec": spec}))
    cluster.say(f"a pod asks for {devices} devices")
    cluster.kubectl("create", "-f", str(path))


def test_a_torchrun_job_grows_into_idle_devices_and_gives_them_back(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    submit(cluster, tmp_path)
    trains(cluster, WORKERS[2], 3)
    trains(cluster, WORKERS[0], 3)
    uids = [cluster.get("pod", name)["metadata"]["uid"] for name in WORKERS[:2]]
    seen = len(cluster.log(WORKERS[0]))
    claim(cluster, tmp_path, 2)
    eventually(lambda: cluster.get("pod", "other")["status"]["phase"] == "Running", TIMEOUT_SECONDS)
    trains(cluster, WORKERS[0], 2, after=seen)
    status = cluster.get("pytorchjob", JOB)["status"]
    assert status["elastic"]["members"] == "0-1"
    assert "failure" not in status, status
    assert not status.get("restarts", {}).get("disruptions")
    events = cluster.kubectl("get", "events", "--field-selector", f"involvedObject.name={JOB}")
    assert "scaled from 3 to 2 workers: Pod default/other waits for" in events, events
    for name, uid in zip(WORKERS[:2], uids, strict=True):
        assert cluster.get("pod", name)["metadata"]["uid"] == uid
        assert_no_more_than_a_checkpoint_was_lost(cluster.log(name))
    cluster.kubectl("delete", "pod", "other")
    cluster.delete(f"pytorchjob/{JOB}")
