"""MPIJobs with each MPI implementation: host names and world size prove that ranks run on the workers."""

from __future__ import annotations

import re

import pytest
from tests.cluster.api import Object, eventually
from tests.seeds.clusters import TIMEOUT_SECONDS, Cluster

VERSIONS = {"openmpi4": "Open MPI v4", "openmpi5": "Open MPI v5", "openmpi": "Open MPI v4", "mpich": "MPICH", "intelmpi": "Intel"}

DEEP = 3 * TIMEOUT_SECONDS
"""Seconds. Two ranks build a network of 347 layers before the first step."""


def assert_ranks_are_on_the_workers(cluster: Cluster, job: str, pod: str, implementation: str) -> None:
    said = cluster.log(pod)
    assert f"ranks on {job}-worker-0 {job}-worker-1" in said, said
    assert VERSIONS[implementation] in said, said
    # Two ranks may write at once, so lines may run together.
    assert sorted(re.findall(r"rank=(\d) world=(\d)", said)) == [("0", "2"), ("1", "2")], said
    assert "pi is approximately 3.14" in said


@pytest.mark.parametrize("implementation", [pytest.param("openmpi4", marks=pytest.mark.core), "openmpi5", "mpich", "intelmpi"])
def test_v1_reaches_its_workers_through_kubexec(cluster: Cluster, implementation: str) -> None:
    job = f"pi-{implementation}"
    cluster.create(f"mpi/pi/{implementation}.yaml")
    cluster.ends(f"mpijob/{job}")
    assert_ranks_are_on_the_workers(cluster, job, f"{job}-launcher", implementation)
    cluster.delete(f"mpijob/{job}")


@pytest.mark.parametrize("implementation", ["openmpi", "mpich", "intelmpi"])
def test_v2beta1_reaches_its_workers_over_ssh_with_keys_of_the_jobs_own(cluster: Cluster, implementation: str) -> None:
    job = f"ssh-{implementation}"
    cluster.create(f"mpi/ssh/{implementation}.yaml")
    cluster.ends(f"mpijobs.v2beta1.kubeflow.org/{job}")
    pods = cluster.kubectl("get", "pods", "-l", f"training.kubeflow.org/job-name={job},training.kubeflow.org/job-role=launcher",
                           "-o", "jsonpath={.items[*].metadata.name}").split()  # fmt: skip
    assert len(pods) == 1
    assert_ranks_are_on_the_workers(cluster, job, pods[0], implementation)
    cluster.delete(f"mpijob/{job}")


def test_a_pod_can_add_host_keys_but_not_change_the_files_of_other_pods(cluster: Cluster) -> None:
    tries = "ssh-keygen -A && touch /home/mpiuser/own && echo made; for each in /etc/ssh/sshd_config /home/mpiuser/.sshd_config"
    tries += " /etc/passwd; do (echo Banner none >> $each) 2> /dev/null && echo changed $each; done; exit 0"
    cluster.kubectl("run", "ssh-files", "--image=traincrew/openmpi", "--restart=Never", "--command", "--", "sh", "-c", tries)
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/ssh-files", f"--timeout={TIMEOUT_SECONDS:.0f}s")
    said = cluster.log("ssh-files")
    assert "made" in said, said
    assert "changed" not in said, said
    cluster.kubectl("delete", "pod", "ssh-files")


def test_seed_002_mnist_under_mpirun_trains_on_both_workers(cluster: Cluster) -> None:
    cluster.create("seeds/002-tensorflow-mnist-mpijob.yaml")
    cluster.ends("mpijob/tensorflow-mnist")
    said = cluster.log("tensorflow-mnist-launcher")
    for index in (0, 1):
        assert f"world=2 host=tensorflow-mnist-worker-{index} mpi=True" in said, said
    assert said.count("gradients exchanged: weights equal on 2 ranks") == 2
    cluster.delete("mpijob/tensorflow-mnist")


def test_seed_002_benchmarks_run_in_the_namespace_that_its_command_names(cluster: Cluster) -> None:
    cluster.say("kubectl apply -f tensorflow-benchmarks.yaml -n mpi-operator")
    cluster.kubectl("apply", "-f", "seeds/002-tensorflow-benchmarks-mpijob.yaml", "-n", "mpi-operator")
    cluster.ends("mpijob/tensorflow-benchmarks", "mpi-operator", within=DEEP)
    assert_benchmarked(cluster, "mpi-operator")
    cluster.delete("mpijob/tensorflow-benchmarks", "mpi-operator")


def test_seed_004_asks_for_virtual_gpus_and_shows_three_replicas(cluster: Cluster) -> None:
    cluster.create("seeds/004-tensorflow-benchmarks-mpijob.yaml")
    for index in (0, 1):
        limits = created(cluster, f"tensorflow-benchmarks-worker-{index}")["spec"]["containers"][0]["resources"]["limits"]
        assert (limits["nvidia.com/vgpu"], limits["nvidia.com/gpumem"]) == ("1", "1k")
    cluster.says("tensorflow-benchmarks-launcher", "world=2|resnet101")
    shown = cluster.machine.traincrew("ls").stdout
    assert "3/3" in shown, shown
    cluster.ends("mpijob/tensorflow-benchmarks", within=DEEP)
    assert_benchmarked(cluster, "default")
    cluster.delete("mpijob/tensorflow-benchmarks")


def created(cluster: Cluster, pod: str) -> Object:
    found: Object = eventually(lambda: cluster.machine.api.find("pods", "default", pod))
    return found


def assert_benchmarked(cluster: Cluster, namespace: str) -> None:
    said = cluster.log("tensorflow-benchmarks-launcher", namespace)
    assert "Model:       resnet101" in said, said
    assert said.count("gradients exchanged: weights equal on 2 ranks") == 2
    figure = next(line.split()[-1] for line in said.splitlines() if line.startswith("Total images/sec:"))
    assert float(figure) > 0
    for index in (0, 1):
        assert f"host=tensorflow-benchmarks-worker-{index}" in said, said
