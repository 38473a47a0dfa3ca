"""Placement: which waiting pods go where now, who must go for them, and what the others are told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from traincrew.scheduling import filters, gangs, pod_groups, scores, volumes
from traincrew.scheduling.decision import Binding, Placement, Policy, Selection, Surroundings
from traincrew.scheduling.filters import Verdict
from traincrew.scheduling.gangs import Unit
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Laws, Snapshot
from traincrew.scheduling.unschedulable import Refusing, Unfit


def place(pods: Sequence[PodInfo], nodes: Iterable[Node], around: Surroundings, policy: Policy) -> Placement:
    """pods: all there are, wherever; those under way to a node count as being on it."""
    return _Placing(pods, list(nodes), around, policy).run()


class _Placing:
    def __init__(self, pods: Sequence[PodInfo], nodes: list[Node], around: Surroundings, policy: Policy) -> None:
        self._pods, self._around, self._policy = pods, around, policy
        self._world = Snapshot(nodes, Laws(policy.overcommitted, around.shelf, around.namespaces))
        for pod in pods:
            if pod.spec.node_name and not pod.finished:
                self._world.put(pod, pod.spec.node_name)
        self._gangs = gangs.assemble(pods)
        self._done = Placement()
        queue = pod_groups.Queue(self._world, around.priorities, around.now, policy.patience)
        self._done.groups = pod_groups.phases(around.groups, self._gangs, queue)
        self._waiting = {each.key for each in self._done.groups if each.short}
        self._refusing = Refusing(self._world, self._gangs, around, policy, self._done)
        self._refusing.holds += queue.holds

    def run(self) -> Placement:
        for unit in gangs.units(self._pods, self._policy.served, self._around.groups, self._gangs):
            if not self._refusing.outright(unit, unit.key in self._waiting):
                self._place(unit)
        return self._done

    def _place(self, unit: Unit) -> None:
        if unit.key is None or not unit.needed:
            for pod in unit.pods:
                self._single(pod)
            return
        placed, unfit = self._trial(unit.pods)
        if len(placed) >= unit.needed:
            self._settle(placed)
            for each in unfit:
                self._refusing.single(each)
        else:
            self._undo(placed)
            self._refusing.gang(unit, unfit, lambda: self._would_go(unit))

    def _single(self, pod: PodInfo) -> None:
        if self._refusing.known(pod):
            return
        room, verdicts = self._find(pod)
        if room is None:
            self._refusing.single(Unfit(pod, verdicts))
        else:
            self._world.put(pod, room.node.name)
            self._settle([(pod, room.node.name)])

    def _find(self, pod: PodInfo) -> tuple[NodeInfo | None, list[Verdict]]:
        """The best node, or why none will do."""
        nominated = self._world.rooms.get(pod.status.nominated_node_name)
        if nominated is not None and filters.verdict(pod, nominated, self._world) is None:
            return nominated, []
        feasible, verdicts = [], []
        for room in self._world.rooms.values():
            if (verdict := filters.verdict(pod, room, self._world)) is None:
                feasible.append(room)
            else:
                verdicts.append(verdict)
        return (scores.best(pod, feasible, self._world), []) if feasible else (None, verdicts)

    def _trial(self, pods: Iterable[PodInfo]) -> tuple[list[tuple[PodInfo, str]], list[Unfit]]:
        """As many as there is room for; they are in the world then."""
        placed, unfit = [], []
        for pod in pods:
            if reason := volumes.obstacle(pod, self._around.shelf):
                unfit.append(Unfit(pod, [], reason))
                continue
            room, verdicts = self._find(pod)
            if room is None:
                unfit.append(Unfit(pod, verdicts))
            else:
                self._world.put(pod, room.node.name)
                placed.append((pod, room.node.name))
        return placed, unfit

    def _undo(self, placed: Iterable[tuple[PodInfo, str]]) -> None:
        for pod, node in placed:
            self._world.take(pod, node)

    def _would_go(self, unit: Unit) -> dict[str, str] | None:
        placed, _ = self._trial(unit.pods)
        self._undo(placed)
        return {pod.uid: node for pod, node in placed} if len(placed) >= unit.needed else None

    def _settle(self, placed: list[tuple[PodInfo, str]]) -> None:
        """Claims that wait for a node come first; the pods, all of them together, once these are bound."""
        shelf, awaited = self._around.shelf, False
        for pod, node in placed:
            for claim in volumes.awaited(pod, shelf) if pod.spec.volumes else ():
                awaited = True
                if volumes.SELECTED_NODE not in claim.metadata.annotations:
                    self._done.selections.append(Selection(claim, node))
        if not awaited:
            self._done.bindings += [Binding(pod, node) for pod, node in placed]
