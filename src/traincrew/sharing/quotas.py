"""Quotas: workers on idle capacity are removed for pods whose creation a quota rejects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from traincrew.model.elastic_allocation import GAVE_BACK, Removal
from traincrew.model.meta import Time
from traincrew.scheduling import resource_requests
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import demands
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, Member, QuotaRejection
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.proposal import JobProposal

Amounts = Mapping[str, int]
QuotaHolder = tuple[JobProposal, Member, PodInfo]


def release(
    snapshot: ClusterSnapshot, proposals: Iterable[JobProposal], policy: SharingPolicy, now: Time
) -> dict[str, dict[str, int]]:
    """The amounts of the quotas that are left for scaling up, by namespace, after the rejected pods."""
    proposals = list(proposals)
    left = {namespace: dict(amounts) for namespace, amounts in snapshot.quotas.items()}
    for rejection in sorted(snapshot.quota_rejections, key=lambda each: (each.since, each.claimant)):
        quota = left.get(rejection.namespace)
        if quota is None:
            continue
        freed = resource_requests.total(_amounts(pod) for pod in _being_deleted(snapshot, proposals, rejection.namespace))
        lacking = {name: value - quota[name] - freed.get(name, 0) for name, value in rejection.requests.items() if name in quota}
        for proposal, member, _ in _fewest(_holders(proposals, rejection.namespace), lacking):
            proposal.remove(member.index, Removal(GAVE_BACK, rejection.claimant, _message(rejection, lacking)), policy, now)
        for name in lacking:
            quota[name] -= rejection.requests[name]
    return left


def _amounts(pod: PodInfo) -> dict[str, int]:
    return {**pod.requests, "pods": 1}


def _being_deleted(snapshot: ClusterSnapshot, proposals: list[JobProposal], namespace: str) -> list[PodInfo]:
    """Pods that still count against the quota and are being deleted."""
    own = ((proposal, each) for proposal in proposals for each in (*proposal.job.members, *proposal.job.removed_members))
    removed = [each.pod for proposal, each in own if each.pod is not None and each.index in proposal.leaving]
    found = {pod.uid: pod for pod in (*removed, *(pod for pod in snapshot.pods if pod.terminating))}
    return [pod for pod in found.values() if pod.metadata.namespace == namespace]


def _holders(proposals: list[JobProposal], namespace: str) -> list[QuotaHolder]:
    """The workers above the requested number, in the order of removal."""
    found: list[QuotaHolder] = []
    for proposal in proposals:
        own = [each for each in proposal.removable if each.surplus][: max(len(proposal.members) - proposal.job.wanted, 0)]
        found += [(proposal, each, each.pod) for each in own if each.pod is not None and not each.pod.terminating]
    in_namespace = [each for each in found if each[2].metadata.namespace == namespace]
    return sorted(in_namespace, key=lambda each: (each[1].removal_order, each[0].job.uid))


def _fewest(holders: list[QuotaHolder], lacking: Amounts) -> list[QuotaHolder]:
    """As few as possible. Empty if they would not free all that is lacking."""
    taken: list[QuotaHolder] = []
    for each in holders:
        if _is_enough(taken, lacking):
            break
        if any(value > 0 and _amounts(each[2]).get(name, 0) for name, value in lacking.items()):
            taken.append(each)
    if not _is_enough(taken, lacking):
        return []
    for each in reversed(list(taken)):
        rest = [other for other in taken if other is not each]
        taken = rest if _is_enough(rest, lacking) else taken
    return taken


def _is_enough(taken: list[QuotaHolder], lacking: Amounts) -> bool:
    freed = resource_requests.total(_amounts(pod) for _, _, pod in taken)
    return all(value <= freed.get(name, 0) for name, value in lacking.items())


def _message(rejection: QuotaRejection, lacking: Amounts) -> str:
    names = [name for name, value in lacking.items() if value > 0]
    amounts = " and ".join(demands.amount(name, rejection.requests[name]) for name in names)
    return f"{rejection.claimant} waits for {amounts} of the quota of namespace {rejection.namespace}"
