"""The allocation of one job while the decision is made."""

from __future__ import annotations

import dataclasses

from traincrew.model.elastic_allocation import Allocation, Removal
from traincrew.model.meta import Time
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import demands, scale_up_limits
from traincrew.sharing.cluster_snapshot import ElasticJob, JobHistory, Member, SurplusWorker
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.scale_up_limits import ScalingLimit


class JobProposal:
    def __init__(self, job: ElasticJob, record: JobHistory, protected: frozenset[int], dominant_share: float = 1.0) -> None:
        """dominant_share: the fraction of the cluster's dominant resource that a worker requests."""
        self.job, self.record, self.protected = job, record, protected
        self.worker_share = dominant_share / job.weight
        self.members: dict[int, Member] = {each.index: each for each in job.members}
        for index in (*record.requested, *record.granted):
            self.members.setdefault(index, Member(index, surplus=index in record.granted))
        removed_members = {each.index for each in job.removed_members}
        self.leaving: dict[int, Removal] = {
            index: removal for index, removal in record.leaving.items() if index in removed_members
        }
        self.removed_surplus: list[tuple[Member, Removal]] = []
        """The workers on idle capacity that are removed since the last decision."""
        self.node_hints: dict[int, str] = {}
        self.evicted: dict[str, str] = {}
        self.unconditional = max(job.wanted - record.wanted, 0)
        """The number of workers that are requested even without free capacity: pending, they may trigger a cluster autoscaler."""
        self.limit: ScalingLimit | None = None
        self.requested_workloads: set[int] = set()
        """The workers for which Kueue is asked."""

    @property
    def share_above_min(self) -> float:
        """The dominant share of the workers above the minimum, divided by the weight of the job."""
        return (len(self.members) - self.job.min_replicas) * self.worker_share

    @property
    def removable(self) -> list[Member]:
        """The members that may be removed, in this order."""
        return sorted(
            (each for each in self.members.values() if each.index not in self.protected), key=lambda each: each.removal_order
        )

    def remove(self, index: int, removal: Removal, policy: SharingPolicy, now: Time) -> None:
        self.note_removal(self.members.pop(index), removal, policy, now)

    def note_removal(self, member: Member, removal: Removal, policy: SharingPolicy, now: Time) -> None:
        """The worker is no member any more."""
        if member.surplus:
            self.removed_surplus.append((member, removal))
        self.leaving[member.index] = removal
        self.record = scale_up_limits.with_cooldown(self.record, policy, now, removal)

    @property
    def used_indexes(self) -> set[int]:
        """Those of members, and of pods that still exist."""
        return {*self.members, *(each.index for each in self.job.removed_members), *(each.index for each in self.job.members)}

    def add(self, placed: PodInfo | None, now: Time, *, surplus: bool, index: int | None = None) -> int:
        """A new worker with this index, or with the lowest one that no pod has."""
        used = self.used_indexes
        index = index if index is not None else next(number for number in range(len(used) + 1) if number not in used)
        self.members[index] = Member(index, surplus=surplus)
        if placed is not None and surplus:
            self.node_hints[index] = placed.spec.node_name
        times = {**(self.record.granted if surplus else self.record.requested), index: now}
        self.record = dataclasses.replace(self.record, **{"granted" if surplus else "requested": times})  # type: ignore[arg-type]
        return index

    def removed_for(self, *reasons: str) -> list[Member]:
        """The workers on idle capacity that are removed for one of these reasons."""
        return [member for member, removal in self.removed_surplus if removal.reason in reasons]

    @property
    def running_surplus(self) -> dict[int, SurplusWorker]:
        return {
            each.index: SurplusWorker(each.running_since, each.pod.spec.node_name)
            for each in self.members.values()
            if each.surplus and each.runs and each.running_since is not None and each.pod is not None
        }

    @property
    def pod_count(self) -> int:
        """Pods of the job, including those that are being removed."""
        return len(self.members) + len(self.leaving.keys() | {each.index for each in self.job.removed_members})

    def allocation(self, *, pinned: bool) -> Allocation:
        members = {each.index: each.pod.uid if each.pod is not None else "" for each in self.members.values()}
        reason, message = self._reason_and_message()
        surplus = frozenset(each.index for each in self.members.values() if each.surplus)
        return Allocation(
            members=dict(sorted(members.items())),
            surplus=surplus,
            node_hints=self.node_hints,
            pinned=pinned,
            leaving=self.leaving,
            reclaimed_for=self.record.cooldown_cause if self.record.reclaimed is not None else None,
            reclaimed_at=self.record.reclaimed.at if self.record.reclaimed is not None else None,
            evicted=self.evicted,
            workloads=surplus | self.requested_workloads if self.job.workloads is not None else frozenset(),
            reason=reason,
            message=message,
        )

    def _reason_and_message(self) -> tuple[str, str]:
        if (waiting := self._waiting_for_nodes()) is not None:
            return waiting.reason, waiting.message
        if len(self.members) >= self.job.max_replicas:
            return "AtMaximum", f"the job has the maximum of {self.job.max_replicas} workers"
        if self.limit is None and not self.job.uses_idle_capacity and len(self.members) >= self.job.wanted:
            return "AtMaximum", f"the job has the {self.job.wanted} workers of its spec and does not use idle capacity"
        if self.limit is None:
            return "", ""
        return self.limit.reason, f"{len(self.members)} of {self.job.max_replicas} workers: {self.limit.message}"

    def _waiting_for_nodes(self) -> ScalingLimit | None:
        """Workers that the job asks for have no node. A job that runs says first why others have left."""
        pending = [each.pod for each in self.members.values() if each.pod is not None and demands.is_unschedulable(each.pod)]
        bound = sum(each.is_bound for each in self.members.values())
        if not pending or (self.leaving and bound >= self.job.min_replicas):
            return None
        needed = f"{bound} of {len(self.members)} workers have a node"
        if bound < self.job.min_replicas:
            needed = f"the job waits: {bound} of the {self.job.min_replicas} workers that it needs have a node"
        return ScalingLimit("NoRoom", f"{needed}: {demands.scheduler_message(pending[0])}")
