"""PyTorchJobs of the seeds: DDP over gloo. Jobs that cannot run have a waiting reason, and run once the problem is fixed."""

from __future__ import annotations

import pathlib

import pytest
from tests.cluster.api import eventually
from tests.seeds import rank_logs
from tests.seeds.clusters import EXAMPLES, TIMEOUT_SECONDS, Cluster

GLOO, MPI, NCCL = "pytorch-dist-mnist-gloo", "pytorch-dist-mnist-mpi", "pytorch-dist-mnist-nccl"
NO_MPI = "Distributed package doesn't have MPI built in"


@pytest.mark.core
def test_seed_002_over_gloo_trains_on_three_replicas(cluster: Cluster) -> None:
    cluster.create("seeds/002-pytorch-dist-mnist-gloo-pytorchjob.yaml")
    cluster.ends(f"pytorchjob/{GLOO}")
    said = rank_logs.logs(cluster, GLOO)
    assert rank_logs.hosts(said, 3) == {0: f"{GLOO}-master-0", 1: f"{GLOO}-worker-0", 2: f"{GLOO}-worker-1"}
    assert all("backend=gloo" in text for text in said.values()), said
    rank_logs.assert_trained_together(said, 3)
    cluster.delete(f"pytorchjob/{GLOO}")


def test_seed_002_over_mpi_fails_with_pytorchs_own_words_which_are_kept(cluster: Cluster) -> None:
    cluster.create("seeds/002-pytorch-dist-mnist-mpi-pytorchjob.yaml")
    failed = eventually(lambda: (found := cluster.get("pytorchjob", MPI)["status"]).get("failure") and found, TIMEOUT_SECONDS)
    first = failed["failure"]
    assert (first["container"], first["exitCode"]) == ("pytorch", 1)
    assert NO_MPI in first["message"], first
    again = eventually(lambda: (found := cluster.get("pytorchjob", MPI)["status"]).get("lastFailure") and found, TIMEOUT_SECONDS)
    assert again["failure"] == first, "the first cause stays, whatever fails after it"
    output = cluster.machine.traincrew("why", f"pytorchjob/{MPI}").stdout
    cluster.say(f"traincrew why pytorchjob/{MPI}\n{output}")
    assert f"first failure: {first['replica']} (pod {first['pod']}) exited with code 1" in output
    assert NO_MPI in output
    assert "Use the gloo backend" in output, "what to do"
    cluster.delete(f"pytorchjob/{MPI}")


@pytest.mark.parametrize("namespace", ["kubeflow", "mpi-operator", "team-a"])
def test_one_operator_serves_every_namespace(cluster: Cluster, namespace: str) -> None:
    if namespace not in cluster.kubectl("get", "namespaces", "-o", "name"):
        cluster.kubectl("create", "namespace", namespace)
    cluster.create("pytorch/minimal/job.yaml", "-n", namespace)
    cluster.ends("pytorchjob/pytorch-minimal", namespace)
    said = rank_logs.logs(cluster, "pytorch-minimal", namespace)
    rank_logs.assert_each_pod_is_a_rank(said, 3)
    assert all("sum=3\n" in text for text in said.values()), said
    cluster.delete("pytorchjob/pytorch-minimal", namespace)


def test_seed_003_waits_for_gpus_and_says_so_and_runs_when_they_are_declared(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text(
        (EXAMPLES / "seeds" / f"003-{NCCL}-pytorchjob.yaml").read_text().replace("<训练镜像>", "pytorch-dist-mnist")
    )
    cluster.kubectl("create", "-f", str(manifest))
    status = eventually(lambda: (found := cluster.get("pytorchjob", NCCL)["status"]).get("why") and found)
    assert "Insufficient nvidia.com/gpu" in status["why"]["message"], status
    assert not any(each["type"] == "Running" for each in status["conditions"]), status
    output = cluster.machine.traincrew("why", f"pytorchjob/{NCCL}").stdout
    cluster.say(f"traincrew why pytorchjob/{NCCL}\n{output}")
    assert "Insufficient nvidia.com/gpu" in output
    assert "declare devices with `traincrew up --device NAME=COUNT`" in output, "what to do"
    cluster.say("traincrew down; traincrew up --device nvidia.com/gpu=2")
    cluster.machine.down()
    cluster.machine.up(*cluster.flags, "--device", "nvidia.com/gpu=2")
    cluster.ends(f"pytorchjob/{NCCL}")
    said = rank_logs.logs(cluster, NCCL)
    assert rank_logs.hosts(said, 2) == {0: f"{NCCL}-master-0", 1: f"{NCCL}-worker-0"}
    assert all("needs a GPU and this machine shows none: using gloo instead" in text for text in said.values()), said
    rank_logs.assert_trained_together(said, 2)
    cluster.delete(f"pytorchjob/{NCCL}")
