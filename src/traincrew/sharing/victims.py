"""Which workers leave so that a claim fits: as few as possible, and nobody if not the whole claim would fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing.room import Room
from traincrew.sharing.scene import Member

Order = tuple[bool, bool, float, int]


class Candidate(NamedTuple):
    """A worker that may leave."""

    job: str
    """UID of its job."""
    member: Member
    pod: PodInfo


class Giving(NamedTuple):
    leaving: list[Candidate]
    placed: list[PodInfo]


class _Search:
    """Frees nodes one after the other for the pods of a claim. `allowance`: how many workers of each job may leave."""

    def __init__(self, room: Room, candidates: Iterable[Candidate], allowance: Mapping[str, int]) -> None:
        self._room, self._allowance = room, dict(allowance)
        self._by_node: dict[str, list[Candidate]] = {}
        for each in sorted(candidates, key=lambda candidate: candidate.member.order):
            self._by_node.setdefault(each.pod.spec.node_name, []).append(each)
        self.leaving: list[Candidate] = []

    def admit(self, pod: PodInfo) -> PodInfo | None:
        if (placed := self._room.place(pod)) is not None:
            return placed
        node, freed = "", list[Candidate]()
        nodes = sorted((each[0].member.order, name) for name, each in self._by_node.items() if each)
        for first, name in nodes:
            if freed and self._is_least(freed, first):
                break
            option = self._least(pod, name)
            if option is not None and (not freed or self._price(option) < self._price(freed)):
                node, freed = name, option
        for each in freed:
            self._take(each)
        return self._room.place_on(pod, node) if freed else None

    def _is_least(self, freed: list[Candidate], first: Order) -> bool:
        """Whether no node is better whose first worker has this order: there are thousands of nodes."""
        resized = {each.job for each in self.leaving}
        return len(freed) == 1 and (not resized or freed[0].job in resized) and freed[0].member.order <= first

    def _price(self, freed: list[Candidate]) -> tuple[int, int, list[Order]]:
        """Few workers, of few jobs, of jobs that are resized anyway."""
        resized = {each.job for each in self.leaving}
        return (len(freed), len({each.job for each in freed} - resized), [each.member.order for each in freed])

    def _least(self, pod: PodInfo, node: str) -> list[Candidate] | None:
        """The workers on one node that must leave for the pod."""
        removed: list[Candidate] = []
        left = dict(self._allowance)
        fits = False
        for each in self._by_node[node]:
            if left.get(each.job, 0) > 0:
                left[each.job] -= 1
                removed.append(each)
                self._room.remove(each.pod)
                if fits := self._try(pod, node):
                    break
        needed = self._without_reprieved(pod, node, removed) if fits else None
        for each in removed:
            self._room.add(each.pod)
        return needed

    def _without_reprieved(self, pod: PodInfo, node: str, removed: list[Candidate]) -> list[Candidate]:
        """All of `removed` are out of the room, before and after."""
        needed = list(removed)
        for each in reversed(removed):
            self._room.add(each.pod)
            if self._try(pod, node):
                needed.remove(each)
            else:
                self._room.remove(each.pod)
        for each in removed:
            self._room.remove(each.pod)
        return needed

    def _try(self, pod: PodInfo, node: str) -> bool:
        if (placed := self._room.place_on(pod, node)) is None:
            return False
        self._room.remove(placed)
        return True

    def _take(self, each: Candidate) -> None:
        self._allowance[each.job] -= 1
        self._by_node[each.pod.spec.node_name].remove(each)
        self._room.remove(each.pod)
        self.leaving.append(each)


def least(room: Room, pods: Sequence[PodInfo], candidates: Sequence[Candidate], allowance: Mapping[str, int]) -> Giving | None:
    """The workers that leave, out of the room, and the pods on their nodes. None: the claim cannot be served, nothing changed."""
    search = _Search(room, candidates, allowance)
    placed: list[PodInfo] = []
    for pod in pods:
        one = search.admit(pod)
        if one is None:
            _undo(room, placed, search.leaving)
            return None
        placed.append(one)
    return _reprieve(room, pods, Giving(search.leaving, placed))


def _undo(room: Room, placed: Iterable[PodInfo], leaving: Iterable[Candidate]) -> None:
    for pod in placed:
        room.remove(pod)
    for each in leaving:
        room.add(each.pod)


def _reprieve(room: Room, pods: Sequence[PodInfo], giving: Giving) -> Giving:
    """Keeps workers whose place no pod of the claim needs in the end."""
    if len(pods) == 1:
        return giving
    leaving, placed = list(giving.leaving), giving.placed
    for each in sorted(leaving, key=lambda candidate: candidate.member.order, reverse=True):
        for pod in placed:
            room.remove(pod)
        room.add(each.pod)
        attempt = room.place_all(pods)
        if attempt is not None:
            leaving.remove(each)
            placed = attempt
            continue
        room.remove(each.pod)
        placed = _again(room, placed)
    return Giving(leaving, placed)


def _again(room: Room, placed: list[PodInfo]) -> list[PodInfo]:
    for pod in placed:
        room.add(pod)
    return placed
