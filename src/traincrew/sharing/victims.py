"""Which workers are removed so that a demand fits: as few as possible, and none if not all of its pods would fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing.cluster_snapshot import Member
from traincrew.sharing.free_capacity import FreeCapacity

RemovalOrder = tuple[bool, bool, float, int]


class RemovalCandidate(NamedTuple):
    """A worker that may be removed."""

    job: str
    """UID of its job."""
    member: Member
    pod: PodInfo


class Victims(NamedTuple):
    removed: list[RemovalCandidate]
    placed: list[PodInfo]


class _Search:
    """Frees nodes one after the other for the pods of a demand.

    disruptions_allowed: how many workers of each job may be removed.
    """

    def __init__(
        self, capacity: FreeCapacity, candidates: Iterable[RemovalCandidate], disruptions_allowed: Mapping[str, int]
    ) -> None:
        self._capacity, self._disruptions_allowed = capacity, dict(disruptions_allowed)
        self._by_node: dict[str, list[RemovalCandidate]] = {}
        for each in sorted(candidates, key=lambda candidate: candidate.member.removal_order):
            self._by_node.setdefault(each.pod.spec.node_name, []).append(each)
        self.removed: list[RemovalCandidate] = []

    def admit(self, pod: PodInfo) -> PodInfo | None:
        if (placed := self._capacity.place(pod)) is not None:
            return placed
        node, freed = "", list[RemovalCandidate]()
        nodes = sorted((each[0].member.removal_order, name) for name, each in self._by_node.items() if each)
        for first, name in nodes:
            if freed and self._is_fewest(freed, first):
                break
            option = self._fewest(pod, name)
            if option is not None and (not freed or self._cost(option) < self._cost(freed)):
                node, freed = name, option
        for each in freed:
            self._remove(each)
        return self._capacity.place_on(pod, node) if freed else None

    def _is_fewest(self, freed: list[RemovalCandidate], first: RemovalOrder) -> bool:
        """Whether no node is better whose first worker has this order: there are thousands of nodes."""
        resized = {each.job for each in self.removed}
        return len(freed) == 1 and (not resized or freed[0].job in resized) and freed[0].member.removal_order <= first

    def _cost(self, freed: list[RemovalCandidate]) -> tuple[int, int, list[RemovalOrder]]:
        """Few workers, of few jobs, of jobs that are resized anyway."""
        resized = {each.job for each in self.removed}
        return (len(freed), len({each.job for each in freed} - resized), [each.member.removal_order for each in freed])

    def _fewest(self, pod: PodInfo, node: str) -> list[RemovalCandidate] | None:
        """The workers on one node that must be removed for the pod."""
        tried: list[RemovalCandidate] = []
        left = dict(self._disruptions_allowed)
        fits = False
        for each in self._by_node[node]:
            if left.get(each.job, 0) > 0:
                left[each.job] -= 1
                tried.append(each)
                self._capacity.remove(each.pod)
                if fits := self._try(pod, node):
                    break
        needed = self._without_reprieved(pod, node, tried) if fits else None
        for each in tried:
            self._capacity.add(each.pod)
        return needed

    def _without_reprieved(self, pod: PodInfo, node: str, tried: list[RemovalCandidate]) -> list[RemovalCandidate]:
        """The pods of `tried` are not on the node, before and after."""
        needed = list(tried)
        for each in reversed(tried):
            self._capacity.add(each.pod)
            if self._try(pod, node):
                needed.remove(each)
            else:
                self._capacity.remove(each.pod)
        for each in tried:
            self._capacity.remove(each.pod)
        return needed

    def _try(self, pod: PodInfo, node: str) -> bool:
        if (placed := self._capacity.place_on(pod, node)) is None:
            return False
        self._capacity.remove(placed)
        return True

    def _remove(self, each: RemovalCandidate) -> None:
        self._disruptions_allowed[each.job] -= 1
        self._by_node[each.pod.spec.node_name].remove(each)
        self._capacity.remove(each.pod)
        self.removed.append(each)


def select(
    capacity: FreeCapacity,
    pods: Sequence[PodInfo],
    candidates: Sequence[RemovalCandidate],
    disruptions_allowed: Mapping[str, int],
) -> Victims | None:
    """Removes workers from the capacity and places the pods on their nodes. None: not all pods would fit, and nothing changed."""
    search = _Search(capacity, candidates, disruptions_allowed)
    placed: list[PodInfo] = []
    for pod in pods:
        one = search.admit(pod)
        if one is None:
            _undo(capacity, placed, search.removed)
            return None
        placed.append(one)
    return _reprieve(capacity, pods, Victims(search.removed, placed))


def _undo(capacity: FreeCapacity, placed: Iterable[PodInfo], removed: Iterable[RemovalCandidate]) -> None:
    for pod in placed:
        capacity.remove(pod)
    for each in removed:
        capacity.add(each.pod)


def _reprieve(capacity: FreeCapacity, pods: Sequence[PodInfo], selected: Victims) -> Victims:
    """Keeps workers whose capacity no pod of the demand needs in the end."""
    if len(pods) == 1:
        return selected
    removed, placed = list(selected.removed), selected.placed
    for each in sorted(removed, key=lambda candidate: candidate.member.removal_order, reverse=True):
        for pod in placed:
            capacity.remove(pod)
        capacity.add(each.pod)
        attempt = capacity.place_all(pods)
        if attempt is not None:
            removed.remove(each)
            placed = attempt
            continue
        capacity.remove(each.pod)
        placed = _put_back(capacity, placed)
    return Victims(removed, placed)


def _put_back(capacity: FreeCapacity, placed: list[PodInfo]) -> list[PodInfo]:
    for pod in placed:
        capacity.add(pod)
    return placed
