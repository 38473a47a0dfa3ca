"""Rebalancing: one worker on idle capacity is moved from a job with many workers to a job with few."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.model.elastic_allocation import EVENED_OUT, Removal
from traincrew.model.meta import Time
from traincrew.sharing import allowed_sizes, scale_up_limits
from traincrew.sharing.cluster_snapshot import Member
from traincrew.sharing.free_capacity import FreeCapacity
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.proposal import JobProposal


def rebalance(proposals: list[JobProposal], capacity: FreeCapacity, policy: SharingPolicy, now: Time) -> None:
    """Moves one worker on idle capacity if the donor has had more for long enough and will not have less afterwards."""
    pairs = [
        (donor.share_above_min - recipient.share_above_min, donor, recipient)
        for donor in proposals
        for recipient in proposals
        if donor.job.priority == recipient.job.priority and _would_rebalance(donor, recipient, capacity)
    ]
    donor_uids = {donor.job.uid for _, donor, _ in pairs}
    for proposal in proposals:
        since = proposal.record.imbalanced_since or now if proposal.job.uid in donor_uids else None
        proposal.record = dataclasses.replace(proposal.record, imbalanced_since=since)
    _, donor, recipient = max(pairs, key=lambda pair: (pair[0], pair[1].job.uid), default=(0.0, None, None))
    if donor is None or recipient is None or donor.record.imbalanced_since is None:
        return
    lasted = now - donor.record.imbalanced_since >= dt.timedelta(seconds=policy.rebalance_after)
    affordable = all(each.record.credit >= scale_up_limits.scale_up_cost(each.job.cost) for each in (donor, recipient))
    moved = _moved_member(donor)
    if lasted and affordable and moved is not None:
        _move_worker(donor, recipient, moved, policy, now)


def _would_rebalance(donor: JobProposal, recipient: JobProposal, capacity: FreeCapacity) -> bool:
    if (
        donor is recipient
        or donor.leaving
        or recipient.leaving
        or not recipient.job.running
        or not recipient.job.uses_idle_capacity
    ):
        return False
    if len(donor.members) <= donor.job.wanted or not recipient.job.wanted <= len(recipient.members) < recipient.job.max_replicas:
        return False
    if not (
        allowed_sizes.is_allowed(donor.job, len(donor.members) - 1)
        and allowed_sizes.is_allowed(recipient.job, len(recipient.members) + 1)
    ):
        return False
    rounding = 1e-9 * donor.worker_share
    return (
        donor.share_above_min - donor.worker_share >= recipient.share_above_min + recipient.worker_share - rounding
        and _fits_instead(donor, recipient, capacity)
    )


def _fits_instead(donor: JobProposal, recipient: JobProposal, capacity: FreeCapacity) -> bool:
    """Whether a worker of the recipient fits when one of the donor is removed."""
    moved = _moved_member(donor)
    if moved is None or moved.pod is None:
        return False
    capacity.remove(moved.pod)
    placed = capacity.place(recipient.job.worker_template, no_overcommit=True)
    if placed is not None:
        capacity.remove(placed)
    capacity.add(moved.pod)
    return placed is not None


def _moved_member(donor: JobProposal) -> Member | None:
    return next((each for each in donor.removable if each.pod is not None and each.pod.spec.node_name), None)


def _move_worker(donor: JobProposal, recipient: JobProposal, moved: Member, policy: SharingPolicy, now: Time) -> None:
    message = f"one worker is moved to {recipient.job.reference}, which has {len(recipient.members)}"
    donor.remove(moved.index, Removal(EVENED_OUT, recipient.job.reference, message), policy, now)
    donor.record = dataclasses.replace(
        donor.record, credit=donor.record.credit - scale_up_limits.scale_up_cost(donor.job.cost), imbalanced_since=None
    )
