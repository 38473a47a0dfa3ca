"""JAXJob, XGBoostJob and PaddleJob with their frameworks: one rank per replica, and a falling loss."""

from __future__ import annotations

import pytest
from tests.seeds import rank_logs
from tests.seeds.clusters import Cluster

KINDS = ("jax", "xgboost", "paddle")


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_add_up_their_numbers(cluster: Cluster, kind: str) -> None:
    job = f"{kind}-minimal"
    cluster.create(f"{kind}/minimal/job.yaml")
    cluster.ends(f"{kind}job/{job}")
    said = rank_logs.logs(cluster, job)
    rank_logs.assert_each_pod_is_a_rank(said, 2)
    assert all("sum=1\n" in text for text in said.values()), said
    cluster.delete(f"{kind}job/{job}")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.core) for kind in KINDS])
def test_three_processes_learn_mnist_together(cluster: Cluster, kind: str) -> None:
    job = f"{kind}-mnist"
    cluster.create(f"{kind}/mnist/job.yaml")
    cluster.ends(f"{kind}job/{job}")
    said = rank_logs.logs(cluster, job)
    rank_logs.assert_each_pod_is_a_rank(said, 3)
    rank_logs.assert_trained_together(said, 3)
    cluster.delete(f"{kind}job/{job}")
