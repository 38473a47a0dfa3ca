"""Quotas of namespaces, and the pods of jobs that they keep from being created."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from traincrew.apimachinery import quantities, times
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.model.observed import RejectedWrite
from traincrew.operator import sharing_snapshot
from traincrew.operator.sharing_informers import Quota
from traincrew.scheduling import resource_requests
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing.cluster_snapshot import QuotaRejection

_REQUESTS = "requests."


def quota_rejection(
    kind: JobKind, stored: jobs.JobObject[Any], present: Container[str], rejected: Mapping[str, RejectedWrite]
) -> QuotaRejection | None:
    """The missing pods of a job, if a quota rejects one of them: after a rejection the others are not tried.

    present: the names of its pods. rejected: the pods of the job that the API server rejected, by name.
    """
    kind = kind.following(stored)
    job = kind.job(stored)
    if job.status.finished or job.suspended or not any(each.quota_exceeded for each in rejected.values()):
        return None
    amounts = [
        {name: value * count for name, value in {**pod.requests, "pods": 1}.items()}
        for pod, count in _missing(kind, job, present)
    ]
    since = job.metadata.creation_timestamp or times.ZERO
    requests = resource_requests.total(amounts)
    return QuotaRejection(f"{kind.kind} {job}", job.namespace, requests, since) if requests else None


def _missing(kind: JobKind, job: jobs.Job, present: Container[str]) -> list[tuple[PodInfo, int]]:
    """A pod of each role whose pods are missing, and how many. Workers above the requested number are not counted."""
    found = []
    for role in (role for role in kind.roles if role.name in job.roles and not role.delegated):
        names = [sharing_snapshot.pod_name(job, role, index) for index in job.indexes(role.name)]
        above_requested = max(len(names) - job.requested(role.name), 0)
        count = sum(name not in present for name in names) - above_requested
        if count > 0:
            found.append((sharing_snapshot.pod_of(kind, job, role.name), count))
    return found


def quotas(found: Iterable[Quota]) -> dict[str, dict[str, int]]:
    """What the quotas of each namespace leave. Quotas with a scope are judged by the API server alone."""
    result: dict[str, dict[str, int]] = {}
    for quota in found:
        if quota.spec.scopes or quota.spec.scope_selector:
            continue
        left = result.setdefault(quota.metadata.namespace, {})
        for name, amount in _left(quota.status.hard, quota.status.used).items():
            left[name] = min(left.get(name, amount), amount)
    return result


def _left(hard: Mapping[str, quantities.Text], used: Mapping[str, quantities.Text]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for name, limit in hard.items():
        resource = name.removeprefix(_REQUESTS)
        if name.startswith(("limits.", "count/")) or not quantities.is_quantity(limit):
            continue
        taken = used.get(name, 0)
        left = resource_requests.amount(resource, limit) - resource_requests.amount(resource, taken)
        amounts[resource] = min(amounts.get(resource, left), left)
    return amounts
