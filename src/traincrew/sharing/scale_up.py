"""Scaling up into idle capacity: the job with the lowest dominant share gets the next worker, until no worker fits."""

from __future__ import annotations

import dataclasses
import datetime as dt
import heapq
import itertools
import math
from collections.abc import Sequence

import msgspec

from traincrew.model.meta import Time
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import allowed_sizes, demands, queue_admission, scale_up_limits
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob
from traincrew.sharing.free_capacity import FreeCapacity
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.proposal import JobProposal
from traincrew.sharing.scale_up_limits import ScalingLimit


def new_worker(job: ElasticJob, number: int) -> PodInfo:
    """The pod of a worker that does not exist yet."""
    meta = msgspec.structs.replace(
        job.worker_template.metadata, uid=f"{job.uid}/new-{number}", name=f"{job.worker_template.metadata.name}-{number}"
    )
    return dataclasses.replace(job.worker_template, metadata=meta)


def distribute(proposals: list[JobProposal], capacity: FreeCapacity, snapshot: ClusterSnapshot, now: Time) -> None:
    eligible: list[JobProposal] = []
    for proposal in proposals:
        limit = _limit(proposal, snapshot.policy, now)
        proposal.limit = limit or proposal.limit
        if limit is None and _wants_more(proposal):
            eligible.append(proposal)
        else:  # nobody knows how long the capacity will have been idle when the job may grow
            proposal.record = dataclasses.replace(proposal.record, capacity_since=None)
    placed = _place(eligible, capacity, snapshot)
    while unusable := [each for each in eligible if placed[each.job.uid] and not _allowed(each, len(placed[each.job.uid]))]:
        for proposal in unusable:
            proposal.limit = no_allowed_size(len(placed[proposal.job.uid]))
            proposal.record = dataclasses.replace(proposal.record, capacity_since=None)
        for pod in itertools.chain(*placed.values()):
            capacity.remove(pod)
        eligible = [each for each in eligible if each not in unusable]
        placed = _place(eligible, capacity, snapshot)
    for proposal in eligible:
        _grant(proposal, placed[proposal.job.uid], snapshot, now)


def no_allowed_size(fitting: int) -> ScalingLimit:
    return ScalingLimit("NoRoom", f"{scale_up_limits.more_fit(fitting)}, but the job would not have an allowed size")


def _wants_more(proposal: JobProposal) -> bool:
    return proposal.job.uses_idle_capacity and proposal.job.wanted <= len(proposal.members) < proposal.job.max_replicas


def _limit(proposal: JobProposal, policy: SharingPolicy, now: Time) -> ScalingLimit | None:
    job = proposal.job
    if not _wants_more(proposal):
        return (
            ScalingLimit(job.no_idle_reason or "Autoscaler", job.no_idle_message)
            if job.no_idle_message and len(proposal.members) >= job.wanted
            else None
        )
    if not any(value for name, value in job.worker_template.requests.items() if name != "pods"):
        return ScalingLimit("NothingAsked", "the template of the workers requests no resources: set resources.requests")
    if proposal.leaving:
        return scale_up_limits.limit_during_removal(next(iter(proposal.leaving.values())))
    if job.removed_members or not all(each.runs for each in proposal.members.values()):
        return ScalingLimit("Starting", "a worker is starting or being removed")
    if not job.running:
        # The state of the job changes by the operator's own writes, which trigger no decision.
        return ScalingLimit("Starting", "the job is starting", now + dt.timedelta(seconds=policy.starting_requeue))
    return scale_up_limits.limit_before_scale_up(job, proposal.record, policy, now)


def _place(proposals: list[JobProposal], capacity: FreeCapacity, snapshot: ClusterSnapshot) -> dict[str, list[PodInfo]]:
    """The workers that fit, by UID of their job, in the order in which they were placed."""
    placed: dict[str, list[PodInfo]] = {proposal.job.uid: [] for proposal in proposals}
    by_uid = {proposal.job.uid: proposal for proposal in proposals}
    shares = [(proposal.share_above_min, uid) for uid, proposal in by_uid.items()]
    heapq.heapify(shares)
    limits = _Limits(capacity, snapshot)
    while shares:
        share_above_min, uid = heapq.heappop(shares)
        proposal, own = by_uid[uid], placed[uid]
        if len(proposal.members) + len(own) >= proposal.job.max_replicas:
            continue
        pod = new_worker(proposal.job, len(own))
        limit = limits.check(pod)
        one = capacity.place(pod, no_overcommit=True) if limit is None else None
        if one is None:
            if not own:
                proposal.limit = limit or ScalingLimit("NoRoom", capacity.unschedulable_reasons(proposal.job.worker_template))
            continue
        limits.consume(pod)
        own.append(one)
        heapq.heappush(shares, (share_above_min + proposal.worker_share, uid))
    return placed


class _Limits:
    """Headroom of the cluster and quotas of the namespaces."""

    def __init__(self, capacity: FreeCapacity, snapshot: ClusterSnapshot) -> None:
        self._capacity, self._headroom = capacity, dict(snapshot.policy.headroom)
        for name, fraction in snapshot.policy.headroom_fractions.items():
            self._headroom[name] = max(self._headroom.get(name, 0), math.ceil(fraction * capacity.allocatable(name)))
        self._quotas = {namespace: dict(left) for namespace, left in snapshot.quotas.items()}

    def check(self, pod: PodInfo) -> ScalingLimit | None:
        free = self._capacity.free(self._headroom) if self._headroom else {}
        for name, kept in self._headroom.items():
            if pod.requests.get(name, 0) and free[name] - pod.requests[name] < kept:
                return ScalingLimit("Headroom", f"{demands.amount(name, kept)} must stay unused (--headroom of the operator)")
        left = self._quotas.get(pod.metadata.namespace, {})
        for name, value in {**pod.requests, "pods": 1}.items():
            if value > left.get(name, value):
                unused = demands.amount(name, max(left[name], 0))
                return ScalingLimit("Quota", f"the quota of namespace {pod.metadata.namespace} leaves {unused}")
        return None

    def consume(self, pod: PodInfo) -> None:
        left = self._quotas.get(pod.metadata.namespace, {})
        for name, value in {**pod.requests, "pods": 1}.items():
            if name in left:
                left[name] -= value


def _grant(proposal: JobProposal, placed: list[PodInfo], snapshot: ClusterSnapshot, now: Time) -> None:
    added = _allowed(proposal, len(placed))
    if not added:
        proposal.record = dataclasses.replace(proposal.record, capacity_since=None)
        return
    proposal.record = dataclasses.replace(proposal.record, capacity_since=proposal.record.capacity_since or now)
    proposal.limit = scale_up_limits.limit_of_scale_up(
        proposal.job, proposal.record, added, snapshot.history.lifetimes.mean, snapshot.policy, now
    )
    if proposal.limit is not None:
        return
    indexes = _indexes(proposal, added)
    for one, index in zip(placed, indexes, strict=False):
        proposal.add(one, now, surplus=True, index=index)
    if indexes:
        proposal.record = scale_up_limits.charged(proposal.record, proposal.job)


def _indexes(proposal: JobProposal, added: int) -> Sequence[int | None]:
    """The indexes of new workers; None: the lowest that is free. A queue may admit fewer workers than fit."""
    if proposal.job.workloads is None:
        return [None] * added
    admitted = queue_admission.request(proposal, added)
    count = _allowed(proposal, len(admitted))
    if admitted and not count:
        proposal.limit = queue_admission.no_allowed_size(proposal.job)
    return admitted[:count]


def _allowed(proposal: JobProposal, added: int) -> int:
    """The number of additional workers with which the job has an allowed size."""
    return allowed_sizes.added(proposal.job, len(proposal.members), added)
