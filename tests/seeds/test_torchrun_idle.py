"""torchrun on idle devices: the job grows by itself, gives back to a job that waits, and goes on from its checkpoint."""

from __future__ import annotations

import pathlib
import re

import yaml
from tests.cluster.api import eventually
from tests.seeds.clusters import EXAMPLES, TIMEOUT_SECONDS, Cluster
from tests.seeds.test_elastic_idle import DEVICE, create, phases, waiting_job
from tests.seeds.test_torchrun import JOB, MARGIN, WORKERS, assert_no_more_than_a_checkpoint_was_lost, trains


def submit(cluster: Cluster, folder: pathlib.Path, workers: int = 2, **annotations: str) -> None:
    job = yaml.safe_load((EXAMPLES / "pytorch/elastic/job.yaml").read_text())
    names = {"scaling": "idle", "checkpoint-seconds": "10", **annotations}
    job["metadata"]["annotations"] = {f"traincrew.kubeflow.org/{name}": text for name, text in names.items()}
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = workers
    container = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["args"][:4] = ["--steps", "1000000", "--pause", "0.2"]
    container["resources"] = {"limits": {DEVICE: 1}}
    create(cluster, folder, job)


def test_a_torchrun_job_grows_into_idle_devices_and_gives_them_back(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    submit(cluster, tmp_path)
    trains(cluster, WORKERS[2], 3)
    trains(cluster, WORKERS[0], 3)
    uids = [cluster.get("pod", name)["metadata"]["uid"] for name in WORKERS[:2]]
    seen = len(cluster.log(WORKERS[0]))
    create(cluster, tmp_path, waiting_job(2))
    eventually(lambda: phases(cluster, "mnist") == ["Running", "Running"], TIMEOUT_SECONDS)
    trains(cluster, WORKERS[0], 2, after=seen)
    status = cluster.get("pytorchjob", JOB)["status"]
    assert status["elastic"]["members"] == "0-1"
    assert "failure" not in status, status
    assert not status.get("restarts", {}).get("disruptions")
    of_job = ("get", "events", "--field-selector", f"involvedObject.name={JOB}")
    events = eventually(lambda: "TFJob default/mnist" in (text := cluster.kubectl(*of_job)) and text)
    # "needed": the scheduler has preempted the worker before the operator removed it.
    assert re.search(r"scaled from 3 to 2 workers: TFJob default/mnist (waits for|needed) ", events), events
    for name, uid in zip(WORKERS[:2], uids, strict=True):
        assert cluster.get("pod", name)["metadata"]["uid"] == uid
        assert_no_more_than_a_checkpoint_was_lost(cluster.log(name))
    cluster.delete("tfjob/mnist")
    cluster.delete(f"pytorchjob/{JOB}")


def test_a_program_saves_its_state_when_it_sees_the_notice(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    """All workers are requested ones, for which the operator decides: others are preempted by the scheduler, without a notice."""
    submit(cluster, tmp_path, workers=3, **{"scaling": "yield", "notices": "true", "notice-seconds": "20"})
    trains(cluster, WORKERS[2], 3)
    trains(cluster, WORKERS[0], 3)
    first, seen = cluster.get("pod", WORKERS[0])["metadata"]["uid"], len(cluster.log(WORKERS[0]))
    create(cluster, tmp_path, waiting_job(2))
    eventually(lambda: phases(cluster, "mnist") == ["Running", "Running"], TIMEOUT_SECONDS)
    trains(cluster, WORKERS[0], 2, after=seen)
    assert cluster.get("pod", WORKERS[0])["metadata"]["uid"] == first
    before, _, after = cluster.log(WORKERS[0])[seen:].partition("resumes at step=")
    saved = [int(step) for step in re.findall(r"world=3 host=\S+ step=(\d+) ", before)]
    assert any(step % MARGIN for step in saved), f"no checkpoint but the regular ones: {saved}"
    assert int(after.split()[0]) >= saved[-1], f"the state at step {saved[-1]} is lost"
    cluster.delete("tfjob/mnist")
    cluster.delete(f"pytorchjob/{JOB}")
