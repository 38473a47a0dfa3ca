"""Workers on idle capacity that others removed, by preemption, eviction or deletion: for whom, if that can be seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import NamedTuple

from traincrew.model import naming
from traincrew.model.elastic_allocation import GAVE_BACK, RECLAIMED, Removal
from traincrew.model.meta import Time
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import demands
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, Member, ReclaimedWorkers
from traincrew.sharing.demands import Demand
from traincrew.sharing.proposal import JobProposal

_UNKNOWN = Removal(RECLAIMED, "", "pods on idle capacity were preempted or deleted")


class _Cluster(NamedTuple):
    """Pods that may have got the capacity of removed workers."""

    pods: Sequence[PodInfo]
    waiting: Sequence[Demand]
    devices: frozenset[str]

    def for_whom(self, pod: PodInfo | None, nodes: Collection[str], since: Time) -> Removal:
        """A pod was removed for the pods that its node is nominated for, or that came to the node since. pod None: it is gone."""
        if pod is not None and not pod.preempted:
            return _UNKNOWN
        for demand in self.waiting:
            if any(each.status.nominated_node_name in nodes for each in demand.pods if each.status.nominated_node_name):
                return Removal(GAVE_BACK, demand.claimant, demand.message)
        came = [each for each in self.pods if each.spec.node_name in nodes and self._has_come(each, since)]
        if not came:
            return _UNKNOWN
        first = min(came, key=lambda each: (_started(each), each.full_name))
        return Removal(GAVE_BACK, demands.reference(first), demands.needed([first]))

    def _has_come(self, pod: PodInfo, since: Time) -> bool:
        own = naming.SURPLUS in pod.metadata.labels or pod.terminating
        return not own and bool(self.devices & pod.requests.keys()) and _started(pod) >= since.replace(microsecond=0)


def _started(pod: PodInfo) -> Time:
    return pod.status.start_time or pod.created


def remove(proposal: JobProposal, snapshot: ClusterSnapshot, waiting: Sequence[Demand], now: Time) -> None:
    """Workers whose pods terminate or are gone since the last decision. waiting: the demands of the cluster."""
    before = snapshot.history.jobs.get(proposal.job.uid)
    since = before.credited_until if before is not None else now
    cluster = _Cluster(snapshot.pods, waiting, frozenset(demands.main_resources(proposal.job.worker_template.requests)))
    for member in _reclaimed(proposal):
        proposal.members.pop(member.index, None)
        node = _node(proposal, member)
        proposal.note_removal(member, cluster.for_whom(member.pod, {node}, since), snapshot.policy, now)
        nodes = {node, *(proposal.record.reclaimed.nodes if proposal.record.reclaimed is not None else ())}
        proposal.record = dataclasses.replace(proposal.record, reclaimed=ReclaimedWorkers(frozenset(nodes), since, now))
    for member in proposal.job.removed_members:
        known = proposal.leaving.get(member.index)
        if member.surplus and member.pod is not None and member.pod.preempted and (known is None or not known.claimant):
            node = member.pod.spec.node_name
            proposal.leaving[member.index] = cluster.for_whom(member.pod, {node}, since)
    _explain(proposal, cluster)


def _reclaimed(proposal: JobProposal) -> list[Member]:
    """The planner may have removed them from the record of the job already."""
    members = [each for each in proposal.members.values() if each.surplus and each.pod is not None and each.pod.terminating]
    removed_members = {each.index: each for each in proposal.job.removed_members}
    for index, known in proposal.record.surplus.items():
        present = proposal.members.get(index) or removed_members.get(index)
        if present is None or present.pod is None or (index in removed_members and present.pod.terminating):
            members.append(removed_members.get(index) or Member(index, None, True, known.running_since))
    return sorted(members, key=lambda each: each.index)


def _node(proposal: JobProposal, member: Member) -> str:
    known = proposal.record.surplus.get(member.index)
    return member.pod.spec.node_name if member.pod is not None else known.node if known is not None else ""


def _explain(proposal: JobProposal, cluster: _Cluster) -> None:
    """Names the pods that got the capacity: a preemption is seen before it is known for whom."""
    record = proposal.record
    if record.reclaimed is not None and record.cooldown_cause == _UNKNOWN:
        found = cluster.for_whom(None, record.reclaimed.nodes, record.reclaimed.since)
        proposal.record = dataclasses.replace(record, cooldown_cause=found)
