"""TFJobs with TensorFlow: the jobs of the seeds unchanged, and each distribution strategy of TensorFlow."""

from __future__ import annotations

import pathlib
import re
import shutil
from collections.abc import Iterator

import pytest
import yaml
from tests.cluster.api import eventually
from tests.seeds.clusters import Cluster

SUMMARIES = pathlib.Path("/tmp/data")  # noqa: S108 -- as the seed has it
"""The path of the volume on the node."""
_FIRST = "jsonpath={.items[0].metadata.name}"


@pytest.fixture
def summaries() -> Iterator[pathlib.Path]:
    """The directory of the volume, and its earlier content."""
    before = {path.name for path in SUMMARIES.iterdir()} if SUMMARIES.exists() else None
    yield SUMMARIES
    if before is None:
        shutil.rmtree(SUMMARIES, ignore_errors=True)
        return
    for path in SUMMARIES.iterdir():
        if path.name not in before:
            shutil.rmtree(path)


def pods(cluster: Cluster, job: str, role: str = "") -> list[str]:
    labels = f"training.kubeflow.org/job-name={job}" + (f",training.kubeflow.org/replica-type={role}" if role else "")
    return cluster.kubectl("get", "pods", "-l", labels, "-o", "jsonpath={.items[*].metadata.name}").split()


def events_in(folder: pathlib.Path) -> dict[pathlib.Path, int]:
    return {path: path.stat().st_size for path in folder.rglob("events.out.tfevents.*")}


@pytest.mark.core
def test_seed_002_one_worker_leaves_its_summaries_in_the_claims_folder(cluster: Cluster, summaries: pathlib.Path) -> None:
    before = events_in(summaries)
    for part in ("persistentvolume", "persistentvolumeclaim"):
        cluster.create(f"seeds/002-tfevent-volume-{part}.yaml")
    eventually(lambda: re.search(r"^tfevent-volume +Bound ", cluster.kubectl("get", "pvc", "-n", "kubeflow"), re.MULTILINE))
    cluster.say("kubectl apply -f tf_job_mnist.yaml")
    cluster.kubectl("apply", "-f", "seeds/002-mnist-tfjob.yaml")
    cluster.ends("tfjob/mnist", "kubeflow")
    shown = yaml.safe_load(cluster.kubectl("-n", "kubeflow", "get", "tfjob", "mnist", "-o", "yaml"))
    assert shown["status"]["replicaStatuses"]["Worker"]["succeeded"] == 1
    named = cluster.kubectl("get", "pods", "-n", "kubeflow", "--selector=name=tf-job-operator", "-o", _FIRST)
    assert "kubeflow/mnist" in cluster.log(named, "kubeflow"), "the operator's own log"
    said = cluster.log("mnist-worker-0", "kubeflow")
    assert float(re.findall(r"^step=200 .*accuracy=(\S+)", said, re.MULTILINE)[0]) > 0.8, said
    written = {path: size for path, size in events_in(summaries).items() if path not in before}
    assert {path.parent.relative_to(summaries).as_posix() for path in written} == {"logs/train", "logs/test"}
    assert min(written.values()) > 1000
    cluster.delete("tfjob/mnist", "kubeflow")


def test_seed_002_two_workers_share_a_parameter_server(cluster: Cluster) -> None:
    cluster.say("kubectl apply -f distributed_tfjob.yaml")
    cluster.kubectl("apply", "-f", "seeds/002-distributed-training-tfjob.yaml")
    cluster.ends("tfjob/distributed-training", "kubeflow")
    cluster.says("distributed-training-ps-0", "ps=0 2 of 2 workers are done", "kubeflow")
    for index in (0, 1):
        said = cluster.log(f"distributed-training-worker-{index}", "kubeflow")
        assert f"task=worker:{index} world=2 host=distributed-training-worker-{index}" in said, said
        everybody, own = re.findall(r"exchanged: (\d+) steps on the servers, (\d+) of them mine", said)[0]
        assert int(everybody) > int(own)
    cluster.delete("tfjob/distributed-training", "kubeflow")


def test_two_workers_without_a_chief_train_in_step(cluster: Cluster) -> None:
    cluster.create("tensorflow/multi-worker/job.yaml")
    cluster.ends("tfjob/multi-worker")
    scores = {
        assert_in_step(cluster, f"multi-worker-worker-{index}", f"task=worker:{index} world=2 host=multi-worker-worker-{index}")
        for index in (0, 1)
    }
    assert len(scores) == 1, "weights that are kept in step score the same"
    cluster.delete("tfjob/multi-worker")


def assert_in_step(cluster: Cluster, pod: str, introduction: str) -> str:
    """The accuracy of the network after training."""
    score = cluster.says(pod, r"^rank=\d accuracy=(\S+)")[1]
    said = cluster.log(pod)
    assert introduction in said, said
    assert "gradients exchanged: 2 replicas in step 60" in said, said
    return score


def test_an_evaluator_scores_what_the_chief_leaves_in_the_claim_that_they_share(cluster: Cluster) -> None:
    job = "multi-worker-chief"
    cluster.create("tensorflow/multi-worker/with-chief.yaml")
    cluster.ends(f"tfjob/{job}")
    scores = {
        assert_in_step(cluster, f"{job}-{role}-0", f"task={role}:0 world=2 host={job}-{role}-0") for role in ("chief", "worker")
    }
    scores.add(cluster.says(f"{job}-evaluator-0", r"^evaluator step=60 accuracy=(\S+)")[1])
    assert len(scores) == 1, "the evaluator's network is the one that was trained"
    cluster.delete(f"tfjob/{job}")


def test_parameter_servers_and_workers_end_when_the_chief_does(cluster: Cluster) -> None:
    job = "parameter-server"
    cluster.create("tensorflow/parameter-server/job.yaml")
    for pod in (f"{job}-ps-0", f"{job}-worker-0", f"{job}-worker-1"):
        cluster.says(pod, r"^task=\w+:\d cluster=")
    cluster.ends(f"tfjob/{job}")
    said = cluster.log(f"{job}-chief-0")
    assert "variables on ['/job:ps/replica:0/task:0/device:CPU:0']" in said, said
    assert "gradients exchanged: the servers counted 100 steps of the workers" in said, said
    eventually(lambda: pods(cluster, job) == [f"{job}-chief-0"])
    cluster.delete(f"tfjob/{job}")


def test_an_added_worker_trains_at_once_and_a_removed_worker_causes_no_failure(cluster: Cluster) -> None:
    job = "dynamic-workers"
    cluster.create("tensorflow/dynamic-workers/job.yaml")
    cluster.says(f"{job}-worker-0", r"^worker=0 step=20 ")
    grow, shrink = (f'{{"spec":{{"tfReplicaSpecs":{{"Worker":{{"replicas":{count}}}}}}}}}' for count in (3, 1))
    cluster.kubectl("patch", "tfjob", job, "--type", "merge", "-p", grow)
    joined = cluster.says(f"{job}-worker-2", r"^worker=2 step=1 global_step=(\d+)")
    assert int(joined[1]) > 20, "the servers' variables were trained before it came"
    cluster.kubectl("patch", "tfjob", job, "--type", "merge", "-p", shrink)
    eventually(lambda: pods(cluster, job, "worker") == [f"{job}-worker-0"])
    cluster.ends(f"tfjob/{job}")
    done = cluster.says(f"{job}-worker-0", r"^worker=0 done global_step=\d+ of_others=(\d+)")
    assert int(done[1]) > 0
    cluster.delete(f"tfjob/{job}")
