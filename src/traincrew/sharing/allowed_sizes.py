"""The numbers of workers that a job allows. Their pods may be pending: a job has the number that it requests."""

from __future__ import annotations

from traincrew.model.elastic_allocation import RESIZED, Removal
from traincrew.model.meta import Time
from traincrew.sharing.cluster_snapshot import ElasticJob
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.proposal import JobProposal


def is_allowed(job: ElasticJob, number: int) -> bool:
    return not job.sizes or number in job.sizes


def added(job: ElasticJob, present: int, more: int) -> int:
    """How many of these additional workers the job may have."""
    if not job.sizes:
        return more
    return max(_largest(job, present + more) - present, 0)


def _largest(job: ElasticJob, number: int) -> int:
    """The largest allowed number up to this one. 0: there is none."""
    return max((size for size in job.sizes if size <= number), default=0)


def requested(proposal: JobProposal) -> int:
    """How many workers are requested whether or not there is capacity for them."""
    job, present = proposal.job, len(proposal.members)
    asked = min(max(proposal.unconditional, job.min_replicas - present), job.wanted - present)
    possible = job.max_replicas - proposal.pod_count
    if asked <= 0 or possible <= 0:
        return 0
    up = min((size for size in job.sizes if present + asked <= size <= job.wanted), default=present + asked)
    return up - present if up - present <= possible else added(job, present, possible)


def round_down(proposal: JobProposal, policy: SharingPolicy, now: Time) -> None:
    """Removes further workers until the job has an allowed number, with those that are requested in place of removed ones."""
    job = proposal.job
    expected = len(proposal.members) + requested(proposal)
    largest = _largest(job, expected)
    if is_allowed(job, expected) or not largest:
        return
    numbers = ", ".join(map(str, sorted(job.sizes)))
    cause = next(iter(proposal.leaving.values()), Removal(RESIZED, "", f"the allowed numbers of workers are {numbers}"))
    for member in proposal.removable[: max(len(proposal.members) - largest, 0)]:
        proposal.remove(member.index, cause, policy, now)
