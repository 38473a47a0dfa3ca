"""The examples of JAXJob, XGBoostJob and PaddleJob, as processes of this machine."""

from __future__ import annotations

import pathlib

import pytest
from tests.frameworks import local_jobs

pytestmark = pytest.mark.frameworks


@pytest.mark.parametrize("kind", ["jax", "xgboost", "paddle"])
def test_two_processes_add_up_their_numbers(kind: str, tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example(f"{kind}/minimal/job.yaml", tmp_path) as ranks:
        ranks.ends()
        assert {line[1] for line in ranks.lines(r"rank=(\d) world=2 host=\S+ sum=1$")} == {"0", "1"}


@pytest.mark.parametrize(("kind", "least"), [("jax", 0.8), ("xgboost", 0.75), ("paddle", 0.75)])
def test_three_processes_learn_mnist_together(kind: str, least: float, tmp_path: pathlib.Path) -> None:
    with local_jobs.of_example(f"{kind}/mnist/job.yaml", tmp_path) as ranks:
        ranks.ends()
        assert {line[1] for line in ranks.lines(r"rank=(\d) world=3 ")} == {"0", "1", "2"}
        assert {line[1] for line in ranks.lines(r"rank=(\d) gradients exchanged: \w+ equal on 3 ranks")} == {"0", "1", "2"}
        (accuracy,) = {line[1] for line in ranks.lines(r"accuracy=(\S+)")}
        assert float(accuracy) > least
