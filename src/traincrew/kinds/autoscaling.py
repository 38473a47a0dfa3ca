"""Elastic workers: the bounds of their number, and the HorizontalPodAutoscaler if the elastic policy has metrics."""

from __future__ import annotations

from typing import Any, Protocol

from traincrew.apimachinery import merge_patch_diff
from traincrew.kinds import validation_rules
from traincrew.kinds.kind import Dependent, Dependents, JobKind, Violation, unenforced
from traincrew.model import jobs, resources
from traincrew.model.observed import Observed


class ElasticPolicy(Protocol):
    """The fields that the elastic policies of all kinds share."""

    @property
    def min_replicas(self) -> int | None: ...
    @property
    def max_replicas(self) -> int | None: ...
    @property
    def metrics(self) -> list[dict[str, Any]] | None: ...


def bounds(job: jobs.Job, elastic: ElasticPolicy) -> tuple[int, int]:
    """Smallest and largest number of workers. One bound alone is both; without bounds, the present number is both."""
    low, high = elastic.min_replicas, elastic.max_replicas
    workers = job.count("Worker")
    return (
        low if low is not None else high if high is not None else workers,
        high if high is not None else low if low is not None else workers,
    )


def advise(kind: JobKind, job: jobs.Job, elastic: ElasticPolicy) -> list[Violation]:
    """Bounds that contradict each other or the present number of workers."""
    low, high = bounds(job, elastic)
    if low > high:
        return [unenforced("spec.elasticPolicy.minReplicas", f"is {low}, more than maxReplicas, which is {high}")]
    if "Worker" in job.roles and not low <= job.count("Worker") <= high:
        message = f"is {job.count('Worker')}, not between minReplicas {low} and maxReplicas {high}"
        return [unenforced(f"{validation_rules.replica_path(kind, 'Worker')}.replicas", message)]
    return []


def dependents(kind: str) -> Dependents:
    return Dependents(lambda job, observed: _autoscalers(kind, job, observed), (resources.AUTOSCALERS,))


def _autoscalers(kind: str, job: jobs.Job, observed: Observed) -> list[Dependent]:
    elastic = job.spec.elastic_policy
    if elastic is None or elastic.metrics is None:
        return []
    low, high = bounds(job, elastic)
    spec = {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": kind, "name": job.name},
        "minReplicas": low,
        "maxReplicas": high,
        "metrics": elastic.metrics,
    }
    existing = next((scaler for scaler in observed.autoscalers if scaler.metadata.name == job.name), None)
    drift = {
        key: value for key, value in spec.items() if existing and not merge_patch_diff.contains(existing.spec.get(key), value)
    }
    body = {"metadata": {"name": job.name}, "spec": spec}
    return [Dependent(resources.AUTOSCALERS, body, existing is not None, {"spec": drift} if drift else None)]
