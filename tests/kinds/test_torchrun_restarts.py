"""torchrun counts every worker that leaves as a restart: a job whose workers come and go needs many."""

from __future__ import annotations

import pytest
from tests.kinds import replicas
from tests.planner import manifests

from traincrew.kinds import job_warnings


def warnings(mode: str, max_restarts: int | None) -> list[str]:
    policy = {"minReplicas": 1, "maxReplicas": 4, **({} if max_restarts is None else {"maxRestarts": max_restarts})}
    manifest = manifests.job("PyTorchJob", Worker=2, spec={"elasticPolicy": policy})
    manifest["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": mode}
    return [f"{each.path} {each.message}" for each in job_warnings.of_job(*replicas.defaulted(manifest))]


@pytest.mark.parametrize("mode", ["idle", "yield"])
def test_few_restarts_are_reported_with_the_remedy_if_the_operator_removes_workers(mode: str) -> None:
    (found,) = warnings(mode, 10)
    assert found.startswith("spec.elasticPolicy.maxRestarts is 10, and torchrun counts every worker that leaves as a restart")
    assert "Remove the field, and the operator sets 100 for pods that start then" in found


@pytest.mark.parametrize(("mode", "max_restarts"), [("manual", 10), ("idle", 100), ("idle", None)])
def test_jobs_that_are_scaled_by_hand_or_have_enough_restarts_are_not_reported(mode: str, max_restarts: int | None) -> None:
    assert not warnings(mode, max_restarts)
