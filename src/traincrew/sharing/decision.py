"""The decision: free terminating nodes, satisfy pending pods, rebalance, request missing workers, scale up into idle capacity."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.model.elastic_allocation import GAVE_BACK, NOTICED, RECLAIMED, RESIZED, Removal
from traincrew.model.meta import Time
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import (
    allowed_sizes,
    autoscaled_nodes,
    demands,
    gang_admission,
    queue_admission,
    quotas,
    rebalancing,
    reclaimed_workers,
    removals,
    requested_workers,
    scale_up,
    scale_up_limits,
    termination_notices,
    victims,
)
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, DecisionHistory, JobHistory, SharingDecision
from traincrew.sharing.demands import Demand
from traincrew.sharing.free_capacity import FreeCapacity
from traincrew.sharing.proposal import JobProposal
from traincrew.sharing.victims import RemovalCandidate


def allocate(snapshot: ClusterSnapshot, now: Time) -> SharingDecision:
    return _Decision(snapshot, now).run()


class _Decision:
    def __init__(self, snapshot: ClusterSnapshot, now: Time) -> None:
        self._snapshot, self._policy, self._now = snapshot, snapshot.policy, now
        self._terminating_nodes = termination_notices.terminating_nodes(snapshot.nodes, self._policy.notice_taints)
        staying = [node for node in snapshot.nodes if node.name not in self._terminating_nodes]
        self._at_risk_nodes = termination_notices.at_risk_nodes(snapshot.nodes)
        self._unused_since = autoscaled_nodes.unused_since(snapshot, now)
        self._capacity = FreeCapacity(snapshot, staying, frozenset((*self._at_risk_nodes, *self._unused_since)))
        self._gangs = gang_admission.GangAdmission(snapshot.history.gangs, self._policy, now)
        self._demands = [demand for demand in demands.find(snapshot) if not self._gangs.is_paused(demand)]
        self._proposals: dict[str, JobProposal] = {}
        for job in sorted(snapshot.jobs, key=lambda each: each.uid):
            record = scale_up_limits.with_earned_credit(snapshot.history.jobs.get(job.uid), job, self._policy, now)
            self._proposals[job.uid] = JobProposal(
                job, record, job.protected(self._capacity.nodes), self._capacity.dominant_share(job.worker_template)
            )
        self._withdrawals = autoscaled_nodes.withdrawal_times(self._unused_since, snapshot.pods, self._policy)
        self._requeue_times: list[Time] = list(self._withdrawals.values())
        self._deferred: Demand | None = None
        """A demand that is left to the scheduler for a moment: no job is scaled up."""

    def run(self) -> SharingDecision:
        terminating = [pod for pod in self._snapshot.pods if pod.terminating and pod.spec.node_name]
        terminating += self._staying_for_a_while()
        for pod in terminating:
            self._capacity.remove(pod)
        for proposal in self._proposals.values():
            self._update(proposal)
        for demand in self._demands:
            self._satisfy(demand)
        left = quotas.release(self._snapshot, self._proposals.values(), self._policy, self._now)
        for proposal in self._proposals.values():
            allowed_sizes.round_down(proposal, self._policy, self._now)
        for pod in terminating:  # it uses its capacity until it is deleted
            self._capacity.add(pod)
        for proposal in self._proposals.values():
            self._occupy(proposal)
        for proposal in self._proposals.values():
            removals.evict_protected_pods(proposal, self._terminating_nodes, self._capacity)
        if self._deferred is None and not any(demand.required for demand in self._demands):
            rebalancing.rebalance(list(self._proposals.values()), self._capacity, self._policy, self._now)
        for proposal in self._proposals.values():
            deferred = self._deferred is not None
            requested_workers.request_missing(proposal, self._capacity, self._policy, self._now, deferred=deferred)
        if self._deferred is None:
            snapshot = dataclasses.replace(self._snapshot, quotas=left)
            scale_up.distribute(list(self._proposals.values()), self._capacity, snapshot, self._now)
        return self._result()

    def _staying_for_a_while(self) -> list[PodInfo]:
        """Pods of removed workers that are not deleted yet: they finish a checkpoint, or others are connecting to them."""
        removed = (each.pod for job in self._snapshot.jobs for each in job.removed_members)
        return [pod for pod in removed if pod is not None and pod.spec.node_name and not pod.terminating]

    def _update(self, proposal: JobProposal) -> None:
        """Removes members that are lost, unschedulable, on terminating nodes, or above the number that the job requests."""
        policy, now = self._policy, self._now
        reclaimed_workers.remove(proposal, self._snapshot, self._demands, now)
        removals.remove_failed(proposal, policy, now)
        removals.remove_from_terminating_nodes(proposal, self._terminating_nodes, self._at_risk_nodes, policy, now)
        removals.withdraw(proposal, self._withdrawals, policy, now)
        base = [each for each in proposal.removable if not each.surplus]
        excess = sum(not each.surplus for each in proposal.members.values()) - proposal.job.wanted
        too_many = base[: max(excess, 0)]
        maximum = proposal.job.max_replicas if proposal.job.uses_idle_capacity else proposal.job.wanted
        rest = [each for each in proposal.removable if each not in too_many]
        too_many += rest[: max(len(proposal.members) - len(too_many) - maximum, 0)]
        resized = Removal(RESIZED, "", f"the spec requests {proposal.job.wanted} workers")
        removed = [(member, resized) for member in too_many]
        removed += [each for each in queue_admission.evicted(proposal) if each[0] not in too_many]
        for member, removal in removed:
            proposal.remove(member.index, removal, policy, now)
            if member.pod is not None:
                self._capacity.remove(member.pod)

    def _occupy(self, proposal: JobProposal) -> None:
        """Removed workers use their capacity until they are deleted. New workers use theirs already."""
        for member in proposal.job.members:
            if member.index in proposal.leaving and member.pod is not None:
                self._capacity.add(member.pod)
        for member in proposal.members.values():
            if member.pod is None:
                self._capacity.place(scale_up.new_worker(proposal.job, -1 - member.index))
            elif member.pod.pending and not demands.is_unschedulable(member.pod):
                self._capacity.place(member.pod)

    def _satisfy(self, demand: Demand) -> None:
        if demand.nominated:
            for pod in demand.pods:
                node = pod.status.nominated_node_name
                _ = self._capacity.reserve(pod, node) if node else self._capacity.place(pod)
            return
        has_room = self._capacity.place_all(demand.pods) is not None
        self._gangs.observe(demand, room=has_room and not self._is_anybody_leaving)
        if has_room:
            return
        selected = self._victims_for(demand, required=False)
        if selected is not None and self._is_deferred(demand):
            self._deferred = demand
            self._requeue_times.append(demand.since + dt.timedelta(seconds=self._policy.preemption_grace))
            return
        if selected is None and demand.required:
            selected = self._victims_for(demand, required=True)
        for each in selected.removed if selected is not None else ():
            removal = Removal(GAVE_BACK, demand.claimant, demand.message)
            self._proposals[each.job].remove(each.member.index, removal, self._policy, self._now)

    @property
    def _is_anybody_leaving(self) -> bool:
        return any(each.leaving or each.job.removed_members for each in self._proposals.values())

    def _is_deferred(self, demand: Demand) -> bool:
        able = all(pod.spec.preemption_policy != "Never" for pod in demand.pods)
        return able and self._now < demand.since + dt.timedelta(seconds=self._policy.preemption_grace)

    def _victims_for(self, demand: Demand, *, required: bool) -> victims.Victims | None:
        """required: also requested workers of jobs with no higher priority, down to their minimum."""
        disruptions_allowed, candidates = {}, []
        for uid, proposal in self._proposals.items():
            job = proposal.job
            if demand.job is not None and demand.job.uid == uid:
                continue
            floor = job.min_replicas if required and job.priority <= demand.priority else job.wanted
            # Workers that have no node do not count: the job would be left without those it needs.
            disruptions_allowed[uid] = max(sum(each.is_bound for each in proposal.members.values()) - floor, 0)
            pods = ((each, each.pod) for each in proposal.removable if each.is_bound)
            candidates += [RemovalCandidate(uid, each, pod) for each, pod in pods if pod is not None]
        return victims.select(self._capacity, demand.pods, candidates, disruptions_allowed)

    def _explain(self, proposal: JobProposal) -> None:
        """Sets the limit of jobs that were not considered for scaling up."""
        if proposal.limit is not None:
            return
        if proposal.leaving:
            proposal.limit = scale_up_limits.limit_during_removal(next(iter(proposal.leaving.values())))
        elif self._deferred is not None:
            proposal.limit = scale_up_limits.ScalingLimit("Yielding", self._deferred.message)

    def _result(self) -> SharingDecision:
        for proposal in self._proposals.values():
            self._explain(proposal)
            proposal.record = scale_up_limits.charged_for_removals(
                proposal.record, proposal.job, proposal.removed_for(GAVE_BACK, RECLAIMED), self._policy, self._now
            )
        result = {uid: proposal.allocation(pinned=self._policy.pin_surplus) for uid, proposal in self._proposals.items()}
        records = {
            uid: dataclasses.replace(
                proposal.record, wanted=proposal.job.wanted, leaving=dict(proposal.leaving), surplus=proposal.running_surplus
            )
            for uid, proposal in self._proposals.items()
        }
        for proposal in self._proposals.values():
            times = [
                proposal.limit.until if proposal.limit is not None else None,
                proposal.record.cooldown_until,
                *_expiries(proposal),
            ]
            self._requeue_times += [time for time in times if time is not None and time > self._now]
        self._requeue_times += self._gangs.requeue_times
        return SharingDecision(
            result, self._updated_history(records), min((time for time in self._requeue_times if time > self._now), default=None)
        )

    def _updated_history(self, records: dict[str, JobHistory]) -> DecisionHistory:
        """With the lifetimes of workers on idle capacity. Those of a job that has ended have not left for others."""
        history = self._snapshot.history
        before = {(uid, *each): None for uid, record in history.jobs.items() for each in record.surplus.items()}
        running = {(uid, *each): each[1] for uid, record in records.items() for each in record.surplus.items()}
        new = [worker.running_since for key, worker in running.items() if key not in before]
        removed = sum(len(each.removed_for(GAVE_BACK, RECLAIMED, NOTICED)) for each in self._proposals.values())
        lifetimes = history.lifetimes.observed(len(before), new, removed, self._now)
        return DecisionHistory(records, lifetimes, self._unused_since, self._gangs.attempts)


def _expiries(proposal: JobProposal) -> list[Time | None]:
    times = (*proposal.record.granted.values(), *proposal.record.requested.values())
    return [time + dt.timedelta(seconds=scale_up_limits.GRANT_SECONDS + 0.1) for time in times]
