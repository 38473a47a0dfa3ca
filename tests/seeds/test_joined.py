"""The main job of each kind with its framework, on this machine as a node of a real Kubernetes cluster."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable, Iterator

import pytest
import yaml
from tests.cluster import installation, operators
from tests.node import joined_node
from tests.seeds import launcher_logs, test_elastic, test_mpi, test_others, test_pytorch, test_tensorflow
from tests.seeds.clusters import EXAMPLES, Cluster, Say
from tests.seeds.test_elastic import JOB, LAUNCHER

CLAIMS: dict[str, Callable[[Cluster], None]] = {
    "PyTorchJob": lambda cluster: test_pytorch.test_seed_002_over_gloo_trains_on_three_replicas(cluster),
    "TFJob": lambda cluster: test_tensorflow.test_two_workers_without_a_chief_train_in_step(cluster),
    "MPIJob v1": lambda cluster: test_mpi.test_v1_reaches_its_workers_through_kubexec(cluster, "openmpi4"),
    "MPIJob v2beta1": lambda cluster: test_mpi.test_v2beta1_reaches_its_workers_over_ssh_with_keys_of_the_jobs_own(
        cluster, "openmpi"
    ),
    "JAXJob": lambda cluster: test_others.test_three_processes_learn_mnist_together(cluster, "jax"),
    "XGBoostJob": lambda cluster: test_others.test_three_processes_learn_mnist_together(cluster, "xgboost"),
    "PaddleJob": lambda cluster: test_others.test_three_processes_learn_mnist_together(cluster, "paddle"),
}
ELASTIC = EXAMPLES / "seeds" / "000-tensorflow-mnist-elastic-mpijob.yaml"


@pytest.fixture(scope="module")
def remote(say: Say) -> Iterator[Cluster]:
    """With the operator and the permissions that are shipped."""
    began = time.monotonic()
    with joined_node.own_control_plane() as kube:
        made = Cluster(say, machine=joined_node.JoinedNode(kube))
        try:
            installation.crds(kube)
            with operators.running(installation.rights(kube)):
                made.up()
                say(f"a node has joined after {time.monotonic() - began:.1f} s")
                yield made
        finally:
            made.close()


@pytest.mark.parametrize("kind", CLAIMS)
def test_the_main_job_of_each_kind_trains_on_a_node_of_a_real_kubernetes(remote: Cluster, kind: str) -> None:
    CLAIMS[kind](remote)


def modest(folder: pathlib.Path) -> pathlib.Path:
    """The elastic job of the seeds limits each worker to two cores. kube-scheduler does not overcommit, so the requests are
    reduced; the limits stay."""
    job = yaml.safe_load(ELASTIC.read_text())
    for role in job["spec"]["mpiReplicaSpecs"].values():
        for container in role["template"]["spec"]["containers"]:
            container.setdefault("resources", {})["requests"] = {"cpu": "50m"}
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    return path


def test_horovod_elastic_takes_a_third_worker_while_it_trains(remote: Cluster, tmp_path: pathlib.Path) -> None:
    remote.kubectl("create", "-f", str(modest(tmp_path)))
    launcher_logs.wait_for_training(remote, LAUNCHER, JOB, 2)
    before = launcher_logs.launcher(remote, LAUNCHER)
    launcher_logs.patch(remote, JOB, 3)
    launcher_logs.wait_for_training(remote, LAUNCHER, JOB, 3)
    assert launcher_logs.launcher(remote, LAUNCHER) == before
    remote.ends(f"mpijob/{JOB}")
    said = remote.log(LAUNCHER)
    for world in (2, 3):
        assert sorted(launcher_logs.hosts(said, world).values()) == test_elastic.WORKERS[:world], said
    launcher_logs.assert_at_most_one_commit_lost(said)
    assert "done batch=1000" in said
    remote.delete(f"mpijob/{JOB}")
