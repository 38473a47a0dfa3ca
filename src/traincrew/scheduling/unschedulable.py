"""What becomes of pods that find no place: others are preempted for them, or they are told why they wait."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping

from traincrew.scheduling import filters, messages, preemption, resource_requests, volumes
from traincrew.scheduling.decision import Placement, Policy, Preemption, Refusal, Surroundings
from traincrew.scheduling.filters import Verdict
from traincrew.scheduling.gangs import GangKey, Members, Unit
from traincrew.scheduling.pod_groups import Hold
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.preemption import Bundle, Fits, Plan
from traincrew.scheduling.snapshot import Snapshot


@dataclasses.dataclass
class Unfit:
    pod: PodInfo
    verdicts: list[Verdict]
    obstacle: str = ""
    """Why no node whatever would do."""


class Refusing:
    def __init__(
        self, world: Snapshot, members: Mapping[GangKey, Members], around: Surroundings, policy: Policy, done: Placement
    ) -> None:
        self._world, self._members, self._around, self._policy, self._done = world, members, around, policy, done
        self.holds: list[Hold] = []
        self._told: dict[Hashable, str] = {}
        self._bundles: list[Bundle] | None = None
        self._leaving: dict[str, PodInfo] = {pod.uid: pod for pod, _ in world.here() if pod.terminating}
        self._thought = 0

    def outright(self, unit: Unit, waiting: bool) -> bool:
        """Refuses what need not be tried; tells whether it did. waiting: its group has not been let in."""
        count = len(self._world.rooms)
        if not count:
            self._all(unit.pods, messages.NO_NODES)
            return True
        if unit.key is not None and unit.group is None:
            self._all(unit.pods, messages.obstacle(count, f'pod group "{unit.key.title}" not found'))
            return True
        if unit.group is not None and (waiting or len(unit.pods) < unit.needed):
            self._unready(unit, waiting)
            return True
        return self._held(unit)

    def _unready(self, unit: Unit, waiting: bool) -> None:
        assert unit.group is not None
        least, count = unit.group.spec.min_member, len(self._world.rooms)
        for pod in unit.pods:
            told = messages.gang(len(unit.pods), len(unit.pods), unit.members.total, least)
            if not waiting:
                present = len(unit.members.standing) + len(unit.pods)
                told = messages.obstacle(count, messages.siblings(pod.metadata.name, present, least))
            self._refuse(pod, told, "")

    def _held(self, unit: Unit) -> bool:
        if unit.running:
            return False
        for hold in self.holds:
            wants = "pods" in hold.names or any(hold.names & pod.wanted.keys() for pod in unit.pods)
            if wants and unit.order > hold.order:
                reason = f"node(s) were held for pod group {hold.title}, which has waited longer"
                self._all(unit.pods, messages.unfit([Verdict((reason,), True)] * len(self._world.rooms)))
                return True
        return False

    def known(self, pod: PodInfo) -> bool:
        """Refuses a pod like one that was refused already, or whose claims stand in the way."""
        if reason := volumes.obstacle(pod, self._around.shelf) if pod.spec.volumes else "":
            self._refuse(pod, messages.obstacle(len(self._world.rooms), reason), "")
            return True
        if not self._told or (told := self._told.get(self._shape(pod), "")) == "":
            return False
        self._refuse(pod, told, "")
        return True

    def single(self, unfit: Unfit) -> None:
        pod = unfit.pod
        if unfit.obstacle:
            self._refuse(pod, messages.obstacle(len(self._world.rooms), unfit.obstacle), "")
            return
        told = messages.unfit(unfit.verdicts)
        if excuse := self._excuse([pod]):
            self._refuse(pod, f"{told} {excuse}")
            return
        lower = self._lower(pod.spec.priority)
        if lower and not self._may_think():
            return
        found = preemption.for_pod(pod, self._world, lower, self._leaving.values())
        if found.plan is not None:
            self._preempt(found.plan, [pod])
            self._refuse(pod, told, found.plan.nodes[pod.uid])
            return
        told = f"{told} {messages.futile(found.verdicts)}{self._advice(unfit)}"
        if (shape := self._shape(pod)) is not None:
            self._told[shape] = told
        self._refuse(pod, told, "")

    def gang(self, unit: Unit, unfit: list[Unfit], would_go: Fits) -> None:
        excuse = self._excuse(unit.pods)
        plan = None
        if not excuse and not any(each.obstacle for each in unfit):
            lower = self._lower(unit.priority)
            if lower and not self._may_think():
                return
            plan = preemption.for_gang(would_go, self._world, lower, self._leaving.values()) if lower else None
        if plan is not None:
            self._preempt(plan, unit.pods)
        elif not excuse:
            self._hold(unit, would_go)
        self._tell_gang(unit, unfit, excuse, plan)

    def _tell_gang(self, unit: Unit, unfit: list[Unfit], excuse: str, plan: Plan | None) -> None:
        least = unit.group.spec.min_member if unit.group else 0
        lacking = {each.pod.uid: each for each in unfit}
        common = messages.gang(len(unfit), len(unit.pods), unit.members.total, least)
        after = excuse
        if not excuse and plan is None and unfit[0].verdicts:
            after = self._futile(unfit[0].pod) + self._advice(unfit[0])
        for pod in unit.pods:
            each = lacking.get(pod.uid)
            told = common if each is None else self._told_of(each, after)
            self._refuse(pod, told, plan.nodes.get(pod.uid, "") if plan else None if excuse else "")

    def _told_of(self, unfit: Unfit, after: str) -> str:
        if unfit.obstacle:
            return messages.obstacle(len(self._world.rooms), unfit.obstacle)
        return f"{messages.unfit(unfit.verdicts)} {after}".strip()

    def _futile(self, pod: PodInfo) -> str:
        lower = self._lower(pod.spec.priority)
        return messages.futile(preemption.for_pod(pod, self._world, lower, self._leaving.values()).verdicts)

    def _excuse(self, pods: list[PodInfo]) -> str:
        """Why nobody else is to go for these: they may not, or somebody is going already."""
        if any(pod.spec.preemption_policy == "Never" for pod in pods):
            return messages.NEVER
        if not any(self._awaits_victims(pod) for pod in pods):
            return ""
        for pod in pods:
            self._world.put(pod, pod.status.nominated_node_name)
        return messages.WAITING

    def _awaits_victims(self, pod: PodInfo) -> bool:
        room = self._world.rooms.get(pod.status.nominated_node_name)
        if room is None:
            return False
        verdict = filters.verdict(pod, room, self._world)
        if verdict is not None and verdict.hopeless:
            return False
        return any(other.preempted and other.spec.priority < pod.spec.priority for other in room.pods.values())

    def _lower(self, priority: int) -> list[Bundle]:
        if self._bundles is None:
            self._bundles = preemption.bundles(self._world, self._around.groups, self._members)
        return [each for each in self._bundles if each.priority < priority]

    def _may_think(self) -> bool:
        self._thought += 1
        if self._thought > self._policy.preemptions:
            self._done.unfinished = True
            return False
        return True

    def _preempt(self, plan: Plan, pods: list[PodInfo]) -> None:
        gone = {pod.uid for pod in plan.victims}
        self._leaving |= {pod.uid: pod for pod in plan.victims}
        self._bundles = [each for each in self._bundles or () if each.pods[0].uid not in gone]
        for victim in plan.victims:
            by = next((pod for pod in pods if plan.nodes.get(pod.uid) == victim.spec.node_name), pods[0])
            self._done.preemptions.append(Preemption(victim, by))
        for pod in pods:
            self._world.put(pod, plan.nodes.get(pod.uid, ""))

    def _hold(self, unit: Unit, would_go: Fits) -> None:
        """A gang that has waited long, and could go if others were not there, keeps those behind it from taking its room."""
        if unit.key is None or self._around.now - unit.order[1] < self._policy.patience:
            return
        here = [(pod, room.node.name) for pod, room in self._world.here() if pod not in unit.members.standing]
        for pod, node in here:
            self._world.take(pod, node)
        possible = would_go() is not None
        for pod, node in here:
            self._world.put(pod, node)
        if possible:
            self.holds.append(Hold(unit.order, self._scarce(unit), unit.key.title))

    def _scarce(self, unit: Unit) -> frozenset[str]:
        wanted = resource_requests.total(pod.wanted for pod in unit.pods)
        free = resource_requests.total(room.free for room in self._world.rooms.values())
        names = {name for name in wanted if name not in self._policy.overcommitted}
        return frozenset({name for name in names if wanted[name] > free.get(name, 0)} or names or {"pods"})

    def _advice(self, unfit: Unfit) -> str:
        if not self._policy.advises:
            return ""
        capacity = resource_requests.most(room.capacity for room in self._world.rooms.values())
        told = messages.advice((name for each in unfit.verdicts for name in each.short), unfit.pod.wanted, capacity)
        return f" {told}" if told else ""

    def _shape(self, pod: PodInfo) -> Hashable:
        """The same for pods that the same nodes refuse; None where other pods or volumes have a say."""
        spec = pod.spec
        if spec.affinity or spec.volumes or spec.topology_spread_constraints or self._world.repelling:
            return None
        if pod.status.nominated_node_name:
            return None
        tolerations = tuple((each.key, each.operator, each.value, each.effect) for each in spec.tolerations)
        asked = (tuple(sorted(pod.wanted.items())), tuple(sorted(spec.node_selector.items())), tolerations, pod.ports)
        return (*asked, spec.priority, spec.preemption_policy)

    def _all(self, pods: Iterable[PodInfo], message: str) -> None:
        for pod in pods:
            self._refuse(pod, message, "")

    def _refuse(self, pod: PodInfo, message: str, nominated: str | None = None) -> None:
        self._done.refusals.append(Refusal(pod, message, nominated))
