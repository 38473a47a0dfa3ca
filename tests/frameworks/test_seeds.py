"""Jobs of the seeds, unchanged, as processes of this machine."""

from __future__ import annotations

import pathlib

import pytest
from tests.frameworks import local_jobs, mpi_workers

pytestmark = pytest.mark.frameworks


def test_pytorch_over_gloo_trains_on_three_ranks(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("seeds/002-pytorch-dist-mnist-gloo-pytorchjob.yaml", tmp_path) as ranks:
        ranks.ends()
        assert len(ranks.lines(r"gradients exchanged: weights equal on 3 ranks")) == 3


def test_one_tensorflow_worker_leaves_summaries(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("seeds/002-mnist-tfjob.yaml", tmp_path) as tasks:
        tasks.ends()
        assert list((tmp_path / "volumes" / "training" / "logs").rglob("events.out.tfevents.*"))


def test_ps_and_workers_without_a_command_train(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("seeds/002-distributed-training-tfjob.yaml", tmp_path) as tasks:
        tasks.ends()
        assert len(tasks.lines(r"gradients exchanged: ")) == 2


def test_horovod_under_mpirun_trains_on_both_workers(tmp_path: pathlib.Path) -> None:
    with mpi_workers.of_example("seeds/002-tensorflow-mnist-mpijob.yaml", tmp_path) as launcher:
        launcher.ends()
        hosts = {line[1] for line in launcher.lines(r"world=2 host=tensorflow-mnist-(\S+) ")}
        assert hosts == {"worker-0", "worker-1"}


@pytest.mark.parametrize("seed", ["002", "004"])
def test_benchmarks_end_with_a_figure(seed: str, tmp_path: pathlib.Path) -> None:
    with mpi_workers.of_example(f"seeds/{seed}-tensorflow-benchmarks-mpijob.yaml", tmp_path) as launcher:
        launcher.ends()
        assert launcher.lines(r"^Model:       resnet101$")
        assert len(launcher.lines(r"gradients exchanged: weights equal on 2 ranks")) == 2
        assert float(launcher.lines(r"^Total images/sec: (\S+)$")[0][1]) > 0


def test_elastic_training_starts_with_two_workers_and_takes_a_third(tmp_path: pathlib.Path) -> None:
    launcher = mpi_workers.of_example("seeds/000-tensorflow-mnist-elastic-mpijob.yaml", tmp_path)
    names = [f"tensorflow-mnist-elastic-worker-{index}" for index in range(3)]
    mpi_workers.discover(tmp_path, names[:2])
    with launcher:
        launcher.says("launcher", r"world=2 host=\S+ batch=20 ")
        mpi_workers.discover(tmp_path, names)
        launcher.says("launcher", r"world=3 host=tensorflow-mnist-elastic-worker-2 batch=\d+ ")
