"""Elastic workers: between which bounds, and the autoscaler that moves them where metrics are given."""

from __future__ import annotations

from typing import Any, Protocol

from traincrew.apimachinery import merge_diff
from traincrew.kinds.kind import Desired
from traincrew.model import jobs, resources
from traincrew.model.observed import Observed


class Elastic(Protocol):
    """An elastic policy, whatever else it holds."""

    @property
    def min_replicas(self) -> int | None: ...
    @property
    def max_replicas(self) -> int | None: ...
    @property
    def metrics(self) -> list[dict[str, Any]] | None: ...


def bounds(job: jobs.Job, elastic: Elastic) -> tuple[int, int]:
    """Smallest and largest number of workers; where one bound is given it is both, where none is, the present number."""
    low, high = elastic.min_replicas, elastic.max_replicas
    workers = job.count("Worker")
    return (
        low if low is not None else high if high is not None else workers,
        high if high is not None else low if low is not None else workers,
    )


def autoscalers(kind: str, job: jobs.Job, elastic: Elastic | None, observed: Observed) -> list[Desired]:
    if elastic is None or elastic.metrics is None:
        return []
    low, high = bounds(job, elastic)
    spec = {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": kind, "name": job.name},
        "minReplicas": low,
        "maxReplicas": high,
        "metrics": elastic.metrics,
    }
    found = next((scaler for scaler in observed.autoscalers if scaler.metadata.name == job.name), None)
    drift = {key: value for key, value in spec.items() if found and not merge_diff.holds(found.spec.get(key), value)}
    body = {"metadata": {"name": job.name}, "spec": spec}
    return [Desired(resources.AUTOSCALERS, body, found is not None, {"spec": drift} if drift else None)]
