"""Quotas: workers on idle capacity leave for pods that a quota keeps from being created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from traincrew.model.meta import Time
from traincrew.model.shares import GAVE_BACK, Leave
from traincrew.scheduling import resource_requests
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import claims
from traincrew.sharing.draft import Draft
from traincrew.sharing.scene import Member, RefusedPods, Rules, Scene

Amounts = Mapping[str, int]
Holder = tuple[Draft, Member, PodInfo]


def give_back(scene: Scene, drafts: Iterable[Draft], rules: Rules, now: Time) -> dict[str, dict[str, int]]:
    """What the quotas leave for growth, by namespace, when those that wait have been served."""
    drafts = list(drafts)
    left = {namespace: dict(amounts) for namespace, amounts in scene.quotas.items()}
    for refused in sorted(scene.refused, key=lambda each: (each.since, each.claimant)):
        quota = left.get(refused.namespace)
        if quota is None:
            continue
        freed = resource_requests.total(_amounts(pod) for pod in _ending(scene, drafts, refused.namespace))
        lacking = {name: value - quota[name] - freed.get(name, 0) for name, value in refused.requests.items() if name in quota}
        for draft, member, _ in _least(_holders(drafts, refused.namespace), lacking):
            draft.leave(member.index, Leave(GAVE_BACK, refused.claimant, _words(refused, lacking)), rules, now)
        for name in lacking:
            quota[name] -= refused.requests[name]
    return left


def _amounts(pod: PodInfo) -> dict[str, int]:
    return {**pod.requests, "pods": 1}


def _ending(scene: Scene, drafts: list[Draft], namespace: str) -> list[PodInfo]:
    """Pods that still count, and will be gone soon."""
    own = ((draft, each) for draft in drafts for each in (*draft.job.members, *draft.job.departing))
    leaving = [each.pod for draft, each in own if each.pod is not None and each.index in draft.leaving]
    found = {pod.uid: pod for pod in (*leaving, *(pod for pod in scene.pods if pod.terminating))}
    return [pod for pod in found.values() if pod.metadata.namespace == namespace]


def _holders(drafts: list[Draft], namespace: str) -> list[Holder]:
    """The workers above the requested number, the first to leave first."""
    found: list[Holder] = []
    for draft in drafts:
        own = [each for each in draft.in_order if each.surplus][: max(len(draft.members) - draft.job.wanted, 0)]
        found += [(draft, each, each.pod) for each in own if each.pod is not None and not each.pod.terminating]
    there = [each for each in found if each[2].metadata.namespace == namespace]
    return sorted(there, key=lambda each: (each[1].order, each[0].job.uid))


def _least(holders: list[Holder], lacking: Amounts) -> list[Holder]:
    """As few as possible, and nobody if not everything that is lacking is freed."""
    taken: list[Holder] = []
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


def _is_enough(taken: list[Holder], lacking: Amounts) -> bool:
    freed = resource_requests.total(_amounts(pod) for _, _, pod in taken)
    return all(value <= freed.get(name, 0) for name, value in lacking.items())


def _words(refused: RefusedPods, lacking: Amounts) -> str:
    names = [name for name, value in lacking.items() if value > 0]
    amounts = " and ".join(claims.amount(name, refused.requests[name]) for name in names)
    return f"{refused.claimant} waits for {amounts} of the quota of namespace {refused.namespace}"
