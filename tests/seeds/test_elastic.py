"""Horovod Elastic: the job of the seeds is scaled and loses workers while it trains; its launcher continues."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from tests.cluster.api import eventually
from tests.seeds import launcher_logs
from tests.seeds.clusters import EXAMPLES, Cluster, script

JOB = "tensorflow-mnist-elastic"
LAUNCHER = f"{JOB}-launcher"
WORKERS = [f"{JOB}-worker-{index}" for index in range(3)]


def edit(cluster: Cluster, folder: pathlib.Path, before: int, after: int) -> None:
    """`kubectl edit` with sed as the editor."""
    editor = script(folder, "editor", f"sed -i '/Worker:/,/template:/ s/replicas: {before}/replicas: {after}/' \"$1\"")
    cluster.say(f"kubectl edit mpijob {JOB}: {before} -> {after} workers")
    output = cluster.kubectl("edit", "mpijob", JOB, EDITOR=str(editor), KUBE_EDITOR=str(editor))
    assert "edited" in output, output


@pytest.mark.parametrize("seed", [pytest.param("000", marks=pytest.mark.core), "001"])
def test_the_seeds_job_goes_from_two_workers_to_three_to_one_while_it_trains(
    cluster: Cluster, tmp_path: pathlib.Path, seed: str
) -> None:
    cluster.create(f"seeds/{seed}-tensorflow-mnist-elastic-mpijob.yaml")
    launcher_logs.wait_for_training(cluster, LAUNCHER, JOB, 2)
    before = launcher_logs.launcher(cluster, LAUNCHER)
    edit(cluster, tmp_path, 2, 3)
    launcher_logs.wait_for_training(cluster, LAUNCHER, JOB, 3)
    assert launcher_logs.launcher(cluster, LAUNCHER) == before
    launcher_logs.patch(cluster, JOB, 1)
    launcher_logs.wait_for_training(cluster, LAUNCHER, JOB, 1)
    assert launcher_logs.launcher(cluster, LAUNCHER) == before
    ended = cluster.ends(f"mpijob/{JOB}")
    said = cluster.log(LAUNCHER)
    for world in (2, 3, 1):
        ranks = launcher_logs.hosts(said, world)
        assert sorted(ranks) == list(range(world)), said
        assert sorted(ranks.values()) == WORKERS[:world], said
    launcher_logs.assert_at_most_one_commit_lost(said)
    assert "done batch=1000" in said
    assert "failure" not in ended["status"], "a worker that was taken away ends with SIGABRT, which is no failure"
    cluster.delete(f"mpijob/{JOB}")


def test_a_worker_that_gets_ready_while_rank_0_still_starts_is_used(cluster: Cluster) -> None:
    cluster.create("seeds/000-tensorflow-mnist-elastic-mpijob.yaml")
    cluster.says(LAUNCHER, r"HOROVOD_RANK=")  # now TensorFlow is being imported
    launcher_logs.patch(cluster, JOB, 3)
    launcher_logs.wait_for_training(cluster, LAUNCHER, JOB, 3)
    assert sorted(launcher_logs.hosts(cluster.log(LAUNCHER), 3).values()) == WORKERS
    cluster.ends(f"mpijob/{JOB}")
    launcher_logs.assert_at_most_one_commit_lost(cluster.log(LAUNCHER))
    cluster.delete(f"mpijob/{JOB}")


def test_the_job_goes_on_when_the_cluster_itself_is_killed(cluster: Cluster) -> None:
    cluster.create("seeds/000-tensorflow-mnist-elastic-mpijob.yaml")
    launcher_logs.wait_for_training(cluster, LAUNCHER, JOB, 2)
    before = launcher_logs.launcher(cluster, LAUNCHER)
    cluster.say("kill -9 of traincrew up")
    cluster.machine.kill()
    cluster.up()
    # Read now: everything after this was logged after the restart of the cluster.
    launcher_logs.says_next(cluster, LAUNCHER, cluster.log(LAUNCHER), rf"world=2 host={WORKERS[1]} batch=\d+ ")
    assert launcher_logs.launcher(cluster, LAUNCHER) == before
    launcher_logs.patch(cluster, JOB, 1)
    launcher_logs.wait_for_training(cluster, LAUNCHER, JOB, 1)
    cluster.ends(f"mpijob/{JOB}")
    said = cluster.log(LAUNCHER)
    launcher_logs.assert_at_most_one_commit_lost(said)
    assert "done batch=1000" in said
    cluster.delete(f"mpijob/{JOB}")


def test_a_launch_that_waits_for_more_workers_than_there_are_is_reported_on_the_job(
    cluster: Cluster, tmp_path: pathlib.Path
) -> None:
    job = yaml.safe_load((EXAMPLES / "mpi/horovod-elastic/job.yaml").read_text())
    job["metadata"]["name"] = "too-many"
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"][2] = "3"
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    cluster.kubectl("create", "-f", str(path))
    output = eventually(lambda: "starts 3 processes" in (text := cluster.kubectl("describe", "mpijob", "too-many")) and text)
    assert "the job has 2 slots" in output
    cluster.delete("mpijob/too-many")


def test_over_ssh_it_grows_and_shrinks_too(cluster: Cluster) -> None:
    job = "horovod-elastic-ssh"
    cluster.create("mpi/horovod-elastic/ssh.yaml")
    named = ("get", "pods", "-l", f"training.kubeflow.org/job-name={job},training.kubeflow.org/job-role=launcher", "-o", "name")
    launcher = eventually(lambda: cluster.kubectl(*named).strip().removeprefix("pod/"))
    launcher_logs.wait_for_training(cluster, launcher, job, 2)
    before = launcher_logs.launcher(cluster, launcher)
    launcher_logs.patch(cluster, job, 3)
    launcher_logs.wait_for_training(cluster, launcher, job, 3)
    launcher_logs.patch(cluster, job, 1)
    launcher_logs.wait_for_training(cluster, launcher, job, 1)
    assert launcher_logs.launcher(cluster, launcher) == before
    cluster.ends(f"mpijob/{job}")
    said = cluster.log(launcher)
    for world in (2, 3, 1):
        assert sorted(launcher_logs.hosts(said, world).values()) == [f"{job}-worker-{index}" for index in range(world)], said
    launcher_logs.assert_at_most_one_commit_lost(said)
    cluster.delete(f"mpijob/{job}")
