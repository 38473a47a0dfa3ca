"""Jobs in a queue of Kueue: every worker above the number that the job asks for needs a Workload that the queue admits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from traincrew.model.elastic_allocation import GAVE_BACK, Removal
from traincrew.sharing.cluster_snapshot import ElasticJob, Member
from traincrew.sharing.proposal import JobProposal
from traincrew.sharing.scale_up_limits import ScalingLimit

MAX_PENDING = 2
"""Workloads that wait for admission at the same time, for a job without allowed sizes: each of them is a request for quota."""


def evicted(proposal: JobProposal) -> list[tuple[Member, Removal]]:
    """The workers on idle capacity whose Workload the queue has evicted, or which is gone."""
    found: list[tuple[Member, Removal]] = []
    for member in proposal.removable if proposal.job.workloads is not None else ():
        workload = (proposal.job.workloads or {}).get(member.index)
        if member.surplus and (workload is None or not workload.admitted):
            message = workload.message if workload is not None else "its Workload was deleted"
            found.append((member, Removal(GAVE_BACK, "", f"Kueue evicts the worker: {message}")))
    return found


def request(proposal: JobProposal, added: int) -> list[int]:
    """Requests Workloads for this number of additional workers. Returns the indexes of those that are admitted already."""
    workloads = proposal.job.workloads or {}
    pending = added if proposal.job.sizes else min(added, MAX_PENDING + sum(each.admitted for each in workloads.values()))
    indexes = _unused(proposal, workloads, pending)
    proposal.requested_workloads |= set(indexes)
    admitted = [index for index in indexes if index in workloads and workloads[index].admitted]
    if not admitted:
        proposal.limit = _waiting(proposal.job, indexes)
    return admitted


def _unused(proposal: JobProposal, workloads: Mapping[int, object], count: int) -> list[int]:
    """Indexes that no pod has, first those with a Workload."""
    used = proposal.used_indexes
    free = (index for index in range(len(used) + len(workloads) + count) if index not in used)
    return sorted(free, key=lambda index: (index not in workloads, index))[:count]


def _waiting(job: ElasticJob, indexes: Iterable[int]) -> ScalingLimit:
    messages = [job.workloads[index].message for index in indexes if job.workloads and index in job.workloads]
    return ScalingLimit("Queue", messages[0] if messages else "Kueue has not answered yet whether it admits one more worker")


def no_allowed_size(job: ElasticJob) -> ScalingLimit:
    sizes = ", ".join(map(str, sorted(job.sizes)))
    return ScalingLimit("Queue", f"Kueue has not admitted enough workers for one of the sizes {sizes}")
