"""Who must go so that a more important pod, or gang, can come."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from traincrew.scheduling import filters, messages
from traincrew.scheduling.filters import Verdict
from traincrew.scheduling.gangs import GangKey, Groups, Members
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot

_FLOOR = 2**31
"""Makes every priority positive, so that more victims never weigh less than fewer."""

Nodes = dict[str, str]
"""Where pods would go, by uid."""
Fits = Callable[[], Nodes | None]


class Bundle(NamedTuple):
    """Pods that go together: one of a gang takes the others with it once the gang is too small without it."""

    pods: tuple[PodInfo, ...]
    priority: int
    since: dt.datetime

    def on(self, node: str) -> bool:
        return any(pod.spec.node_name == node for pod in self.pods)


class Plan(NamedTuple):
    victims: list[PodInfo]
    nodes: Nodes


class Considered(NamedTuple):
    plan: Plan | None
    verdicts: list[Verdict]
    """Why not, for each node, where there is no plan."""


def bundles(world: Snapshot, groups: Groups, members: Mapping[GangKey, Members]) -> list[Bundle]:
    """The least important last."""
    found, single = [], []
    here = {pod.uid for pod, _ in world.here() if pod.spec.node_name and not pod.terminating}
    ganged: set[str] = set()
    for key, held in members.items():
        standing = sorted((pod for pod in held.standing if pod.uid in here), key=_importance)
        ganged |= {pod.uid for pod in standing}
        least = groups[key].spec.min_member if key in groups else 0
        core = standing[: least - held.succeeded] if least > held.succeeded else []
        single += standing[len(core) :]
        if core:
            found.append(_bundle(core))
    single += [pod for pod, _ in world.here() if pod.uid in here and pod.uid not in ganged]
    found += [_bundle([pod]) for pod in single]
    return sorted(found, key=lambda each: (-each.priority, each.since))


def _bundle(pods: list[PodInfo]) -> Bundle:
    return Bundle(tuple(pods), max(pod.spec.priority for pod in pods), min(_started(pod) for pod in pods))


def _started(pod: PodInfo) -> dt.datetime:
    return pod.status.start_time or pod.since


def _importance(pod: PodInfo) -> tuple[int, dt.datetime, str]:
    return (-pod.spec.priority, _started(pod), pod.title)


def for_pod(pod: PodInfo, world: Snapshot, lower: list[Bundle], leaving: Iterable[PodInfo]) -> Considered:
    """lower: whatever is less important; leaving: pods whose room will be free without more ado."""
    plans, verdicts = [], []
    with _without(world, leaving):
        for room in world.rooms.values():
            plan, verdict = _on_node(pod, room, world, [each for each in lower if each.on(room.node.name)])
            if plan is not None and plan.victims:
                plans.append(plan)
            verdicts.append(verdict)
    return Considered(min(plans, key=_cost) if plans else None, verdicts)


def for_gang(fits: Fits, world: Snapshot, lower: list[Bundle], leaving: Iterable[PodInfo]) -> Plan | None:
    with _without(world, leaving):
        plan = _least(fits, world, lower)
    return plan if plan and plan.victims else None


def _on_node(pod: PodInfo, room: NodeInfo, world: Snapshot, lower: list[Bundle]) -> tuple[Plan | None, Verdict]:
    verdict = filters.verdict(pod, room, world)
    if verdict is None or verdict.hopeless:
        return None, Verdict((messages.NOT_HELPFUL if verdict else messages.NO_VICTIMS,), True)
    if not lower:
        return None, Verdict((messages.NO_VICTIMS,), True)
    left: list[Verdict] = []

    def fits() -> Nodes | None:
        found = filters.verdict(pod, room, world)
        left[:] = [found or Verdict((messages.NOT_HELPFUL,), True)]
        return {pod.uid: room.node.name} if found is None else None

    plan = _least(fits, world, lower)
    return plan, left[0]


def _least(fits: Fits, world: Snapshot, lower: list[Bundle]) -> Plan | None:
    """The least important leave until there is room; then, the most important first, each comes back that does not take it.

    More and more leave at a time: mostly a few are enough of a thousand, and the rest need not be touched.
    """
    left, gone = len(lower), 0
    while left and (gone == 0 or fits() is None):
        before, left = left, max(left - max(gone, 1), 0)
        gone = len(lower) - left
        for each in lower[left:before]:
            _take(world, each.pods)
    if fits() is None:
        for each in lower:
            _put(world, each.pods)
        return None
    victims = _not_spared(fits, world, lower[left:])
    nodes = fits()
    for each in victims:
        _put(world, each.pods)
    return None if nodes is None else Plan([pod for each in victims for pod in each.pods], nodes)


def _not_spared(fits: Fits, world: Snapshot, lower: list[Bundle]) -> list[Bundle]:
    """Whole stretches come back at once where they can: there may be a thousand, and most of them do."""
    for each in lower:
        _put(world, each.pods)
    if fits() is not None:
        return []
    for each in lower:
        _take(world, each.pods)
    if len(lower) == 1:
        return lower
    half = len(lower) // 2
    return _not_spared(fits, world, lower[:half]) + _not_spared(fits, world, lower[half:])


def _cost(plan: Plan) -> tuple[int, int, int, float]:
    """As kube-scheduler weighs nodes: the least important victim, then the least in sum, then the fewest, then the youngest."""
    highest = max(pod.spec.priority for pod in plan.victims)
    oldest = min(_started(pod) for pod in plan.victims if pod.spec.priority == highest)
    return (highest, sum(pod.spec.priority + _FLOOR for pod in plan.victims), len(plan.victims), -oldest.timestamp())


@contextmanager
def _without(world: Snapshot, leaving: Iterable[PodInfo]) -> Iterator[None]:
    gone = [pod for pod in leaving if pod.uid in getattr(world.rooms.get(pod.spec.node_name), "pods", ())]
    _take(world, gone)
    try:
        yield
    finally:
        _put(world, gone)


def _take(world: Snapshot, pods: Iterable[PodInfo]) -> None:
    for pod in pods:
        world.take(pod, pod.spec.node_name)


def _put(world: Snapshot, pods: Iterable[PodInfo]) -> None:
    for pod in pods:
        world.put(pod, pod.spec.node_name)
