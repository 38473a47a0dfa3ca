"""Workers up to the requested number: replacements and a higher number are requested at once, others when there is capacity."""

from __future__ import annotations

from traincrew.model.meta import Time
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import allowed_sizes, scale_up, scale_up_limits
from traincrew.sharing.free_capacity import FreeCapacity
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.proposal import JobProposal
from traincrew.sharing.scale_up_limits import ScalingLimit


def request_missing(proposal: JobProposal, capacity: FreeCapacity, policy: SharingPolicy, now: Time, *, deferred: bool) -> None:
    """deferred: a demand is left to the scheduler for a moment."""
    for _ in range(allowed_sizes.requested(proposal)):
        proposal.add(None, now, surplus=False)
    job, present = proposal.job, len(proposal.members)
    lacking = min(job.wanted - present, job.max_replicas - proposal.pod_count)
    if lacking <= 0:
        return
    if proposal.record.cooldown_until is not None or deferred:
        proposal.limit = scale_up_limits.limit_before_scale_up(job, proposal.record, policy, now)
        return
    placed = _place(proposal, capacity, lacking)
    count = allowed_sizes.added(job, present, len(placed))
    for pod in placed[count:]:
        capacity.remove(pod)
    for pod in placed[:count]:
        proposal.add(pod, now, surplus=False)
    if len(placed) < lacking:
        reasons = capacity.unschedulable_reasons(job.worker_template)
        proposal.limit = scale_up.no_allowed_size(len(placed)) if len(placed) > count else ScalingLimit("NoRoom", reasons)


def _place(proposal: JobProposal, capacity: FreeCapacity, lacking: int) -> list[PodInfo]:
    """The missing workers that fit."""
    placed: list[PodInfo] = []
    while len(placed) < lacking:
        one = capacity.place(scale_up.new_worker(proposal.job, len(proposal.members) + len(placed)))
        if one is None:
            break
        placed.append(one)
    return placed
