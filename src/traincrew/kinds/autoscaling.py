"""Elastic workers: the bounds of their number, and the HorizontalPodAutoscaler if the elastic policy has metrics."""

from __future__ import annotations

from typing import Annotated

from traincrew.kinds import violations
from traincrew.kinds.dependent import Dependent, Dependents
from traincrew.kinds.kind import JobKind
from traincrew.kinds.rule import Violation, unenforced
from traincrew.kinds.spec_fields import Metric, described
from traincrew.model import jobs, resources
from traincrew.model.meta import Struct

POLICY = "The policy of an elastic job, whose number of workers may change while it runs."
METRICS = (
    "The metrics by which a HorizontalPodAutoscaler changes the number of workers. Default: there is no autoscaler. "
    "Run `kubectl explain hpa.spec.metrics --api-version autoscaling/v2` for the fields."
)


class WorkerBounds(Struct):
    min_replicas: Annotated[
        int | None, described("The smallest number of workers. Default: maxReplicas, or else the number of workers.")
    ] = None
    max_replicas: Annotated[
        int | None, described("The largest number of workers. Default: minReplicas, or else the number of workers.")
    ] = None


class ElasticPolicy(WorkerBounds):
    """The fields that the elastic policies of PyTorchJobs and PaddleJobs share."""

    max_restarts: Annotated[int | None, described("Accepted for clients that set it. It has no effect.")] = None
    metrics: Annotated[list[Metric] | None, described(METRICS)] = None


def fixed_size(job: jobs.Job) -> bool:
    return job.spec.elastic_policy is None


def bounds(job: jobs.Job, elastic: WorkerBounds) -> tuple[int, int]:
    """Smallest and largest number of workers. One bound alone is both; without bounds, the present number is both."""
    low, high = elastic.min_replicas, elastic.max_replicas
    workers = job.requested("Worker")
    return (
        low if low is not None else high if high is not None else workers,
        high if high is not None else low if low is not None else workers,
    )


def inverted_bounds(low: int | None, high: int | None) -> Violation | None:
    if low is None or high is None or low <= high:
        return None
    message = f"is {low}, more than maxReplicas, which is {high}: change one of the two"
    return unenforced("spec.elasticPolicy.minReplicas", message)


def advise(kind: JobKind, job: jobs.Job, elastic: ElasticPolicy) -> list[Violation]:
    """Bounds that contradict each other or the present number of workers."""
    low, high = bounds(job, elastic)
    if inverted := inverted_bounds(low, high):
        return [inverted]
    if "Worker" in job.roles and not low <= job.requested("Worker") <= high:
        message = f"is {job.requested('Worker')}, not between minReplicas {low} and maxReplicas {high}"
        return [unenforced(f"{violations.replica_path(kind, 'Worker')}.replicas", message)]
    return []


def dependents(kind: str) -> Dependents:
    return Dependents(lambda job, observed: _autoscalers(kind, job), (resources.AUTOSCALERS,))


def _autoscalers(kind: str, job: jobs.Job) -> list[Dependent]:
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
    return [Dependent(resources.AUTOSCALERS, {"metadata": {"name": job.name}, "spec": spec}, reconciled_field="spec")]
