"""PyTorchJob's examples, as processes of this machine."""

from __future__ import annotations

import pathlib
import signal

import pytest
from tests.frameworks import local_jobs

pytestmark = pytest.mark.frameworks


def test_three_ranks_add_up_their_numbers(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("pytorch/minimal/job.yaml", tmp_path) as ranks:
        ranks.ends()
        assert sorted(line[1] for line in ranks.lines(r"rank=(\d) world=3 host=\S+ sum=3$")) == ["0", "1", "2"]


def test_three_ranks_learn_mnist_together(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("pytorch/mnist/job.yaml", tmp_path) as ranks:
        ranks.ends()
        assert len(ranks.lines(r"gradients exchanged: weights equal on 3 ranks")) == 3
        accuracies = {line[1] for line in ranks.lines(r"accuracy=(\S+)")}
        assert len(accuracies) == 1
        assert float(accuracies.pop()) > 0.8


def test_without_a_gpu_nccl_gives_way_to_gloo_and_says_so(tmp_path: pathlib.Path) -> None:
    ranks = local_jobs.of_example("pytorch/mnist/job.yaml", tmp_path)
    for process in ranks.processes.values():
        process.argv = [*process.argv[:-1], "nccl", "--epochs", "1"]
    with ranks:
        ranks.ends()
        assert len(ranks.lines(r"backend nccl needs a GPU .* using gloo instead")) == 3
        assert len(ranks.lines(r"world=3 .* backend=gloo")) == 3


def test_a_wheel_without_mpi_says_that_it_has_none(tmp_path: pathlib.Path) -> None:
    ranks = local_jobs.of_example("pytorch/mnist/job.yaml", tmp_path)
    master = ranks.processes["master-0"]
    master.argv = [*master.argv[:-1], "mpi"]
    ranks.processes = {"master-0": master}
    with ranks:
        ranks.says("master-0", r"Distributed package doesn't have MPI built in")
        assert master.running is not None
        assert master.running.wait(local_jobs.LONG) != 0


def test_an_elastic_job_continues_its_steps_when_scaled(tmp_path: pathlib.Path) -> None:
    agents = local_jobs.of_example("pytorch/elastic/job.yaml", tmp_path)
    third = agents.processes["worker-1"]
    name = third.name.replace("worker-1", "worker-2")
    moved = [word.replace("worker-1", "worker-2") for word in third.argv]
    pathlib.Path(tmp_path, name, "volumes", "checkpoint").mkdir(parents=True)
    late = local_jobs.Process(name, moved, third.env, tmp_path / name, tmp_path / f"{name}.log")
    with agents:
        agents.says("worker-0", r"world=2 .* step=20 ")
        agents.processes["worker-2"] = late
        agents.start("worker-2")
        agents.says("worker-2", r"world=3 .* step=\d+")
        resumed = agents.says("worker-2", r"resumes at step=(\d+)")
        assert int(resumed[1]) >= 20
        agents.kill("worker-2")
        agents.says("worker-0", r"world=3 [\s\S]* resumes at step=(?!0\b)[\s\S]*world=2 .* step=")
        del agents.processes["worker-2"]
        agents.ends()
        assert len(agents.lines(r"gradients exchanged: weights equal on 2 ranks")) == 2


def test_a_killed_worker_process_is_started_again_from_its_checkpoint(tmp_path: pathlib.Path) -> None:
    agents = local_jobs.of_example("pytorch/elastic/job.yaml", tmp_path)
    with agents:
        agents.says("worker-1", r"world=2 .* step=30 ")
        agent = agents.processes["worker-1"].running
        assert agent is not None
        (worker,) = local_jobs.children(agent.pid)
        local_jobs.send(worker, signal.SIGKILL)
        restarted = agents.says("worker-1", r"restarts=1\b[\s\S]*resumes at step=(\d+)")
        assert int(restarted[1]) >= 20
