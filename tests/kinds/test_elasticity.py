"""What a kind says about the number of workers."""

from __future__ import annotations

import pytest
from tests.kinds import replicas
from tests.planner import manifests
from tests.planner.manifests import Manifest


@pytest.mark.parametrize(
    ("policy", "field"),
    [({}, ""), ({"metrics": [{"type": "Resource"}]}, "spec.elasticPolicy.metrics")],
    ids=["no autoscaler", "an autoscaler"],
)
def test_a_kind_names_the_field_that_lets_an_autoscaler_choose_the_number_of_workers(policy: Manifest, field: str) -> None:
    spec = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4, **policy}}
    kind, job = replicas.defaulted(manifests.job("PyTorchJob", Worker=2, spec=spec))
    assert kind.lifecycle.elastic(job).metrics_field == field
