"""TFJob's examples, as processes of this machine."""

from __future__ import annotations

import pathlib

import pytest
from tests.frameworks import local_jobs

pytestmark = pytest.mark.frameworks


def test_chief_and_worker_know_each_other(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("tensorflow/minimal/job.yaml", tmp_path) as tasks:
        tasks.ends()
        assert len(tasks.lines(r"^chief: 127.0.0.1:\d+$")) == 2
        assert sorted(line[1] for line in tasks.lines(r"task=(\S+)")) == ["chief:0", "worker:0"]


def test_one_worker_writes_summaries_to_the_claim(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("tensorflow/mnist-with-summaries/job.yaml", tmp_path) as tasks:
        tasks.ends()
        assert float(tasks.lines(r"step=200 .* accuracy=(\S+)")[0][1]) > 0.8
        written = list((tmp_path / "volumes" / "training").rglob("events.out.tfevents.*"))
        assert {path.parent.name for path in written} == {"train", "test"}
        assert all(path.stat().st_size > 1000 for path in written)


def test_workers_without_a_chief_share_a_parameter_server_that_ends_with_them(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("tensorflow/distributed-worker/job.yaml", tmp_path) as tasks:
        tasks.ends()
        assert len(tasks.lines(r"task=\S+ world=2 ")) == 3
        assert tasks.lines(r"ps=0 2 of 2 workers are done")
        counts = [
            (int(line[1]), int(line[2])) for line in tasks.lines(r"exchanged: (\d+) steps on the servers, (\d+) of them mine")
        ]
        assert len(counts) == 2
        assert all(everybody > own for everybody, own in counts)


def test_two_workers_train_in_step(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("tensorflow/multi-worker/job.yaml", tmp_path) as tasks:
        tasks.ends()
        assert len(tasks.lines(r"gradients exchanged: 2 replicas in step 60")) == 2
        assert len({line[1] for line in tasks.lines(r"accuracy=(\S+)")}) == 1


def test_chief_and_worker_train_in_step_while_an_evaluator_scores(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("tensorflow/multi-worker/with-chief.yaml", tmp_path) as tasks:
        tasks.ends()
        assert len(tasks.lines(r"gradients exchanged: 2 replicas in step 60")) == 2
        (trained,) = {line[1] for line in tasks.lines(r"rank=\d accuracy=(\S+)")}
        assert tasks.says("evaluator-0", r"evaluator step=60 accuracy=(\S+)")[1] == trained


def test_a_job_that_is_started_again_goes_on_from_the_checkpoint(tmp_path: pathlib.Path) -> None:
    for step, resumes in (("20", False), ("40", True)):
        tasks = local_jobs.of_example("tensorflow/multi-worker/with-chief.yaml", tmp_path)
        for process in tasks.processes.values():
            process.argv += ["--steps", step]
            process.output.unlink(missing_ok=True)
        with tasks:
            tasks.ends("chief-0", "worker-0")
            assert bool(tasks.lines(r"resumes at step=20$")) == resumes


def test_the_chief_gives_work_to_workers_and_a_parameter_server_holds_the_variables(tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example("tensorflow/parameter-server/job.yaml", tmp_path) as tasks:
        tasks.ends("chief-0")
        assert tasks.lines(r"variables on \['/job:ps/replica:0/task:0/device:CPU:0'\]")
        assert tasks.lines(r"gradients exchanged: the servers counted 100 steps of the workers")
        assert float(tasks.lines(r"accuracy=(\S+)")[0][1]) > 0.7


def test_a_worker_that_joins_later_takes_part_at_once(tmp_path: pathlib.Path) -> None:
    tasks = local_jobs.of_example("tensorflow/dynamic-workers/job.yaml", tmp_path)
    late = tasks.processes.pop("worker-1")
    with tasks:
        tasks.says("worker-0", r"worker=0 step=20 ")
        tasks.processes["worker-1"] = late
        tasks.start("worker-1")
        joined = tasks.says("worker-1", r"worker=1 step=1 global_step=(\d+)")
        assert int(joined[1]) > 20
        tasks.ends("worker-0", "worker-1")
        assert int(tasks.says("worker-0", r"done global_step=\d+ of_others=(\d+)")[1]) > 0
