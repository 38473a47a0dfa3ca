"""Preemption: which pods of lower priority are deleted so that a pod or a gang fits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from traincrew.scheduling import filters, messages
from traincrew.scheduling.filters import FilterStatus
from traincrew.scheduling.gangs import GangKey, GangMembers, PodGroups
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot

_PRIORITY_OFFSET = 2**31
"""Makes every priority positive, so that more victims never cost less than fewer."""

NodeNames = dict[str, str]
"""The node of each pod, by the pod's UID."""
Fits = Callable[[], NodeNames | None]


class VictimGroup(NamedTuple):
    """Pods that are deleted together: a gang that falls below its minMember loses all of its pods."""

    pods: tuple[PodInfo, ...]
    priority: int
    started: dt.datetime

    def is_on(self, node: str) -> bool:
        return any(pod.spec.node_name == node for pod in self.pods)


class Candidate(NamedTuple):
    """The victims, and the nodes on which the preemptors then fit."""

    victims: list[PodInfo]
    nodes: NodeNames


class PreemptionResult(NamedTuple):
    candidate: Candidate | None
    statuses: list[FilterStatus]
    """Why preemption does not help, for each node, if there is no candidate."""


def victim_groups(snapshot: Snapshot, groups: PodGroups, members: Mapping[GangKey, GangMembers]) -> list[VictimGroup]:
    """In descending order of importance."""
    victims, single = [], []
    eligible = {pod.uid for pod, _ in snapshot.pods() if pod.spec.node_name and not pod.terminating}
    ganged: set[str] = set()
    for key, present in members.items():
        bound = sorted((pod for pod in present.bound if pod.uid in eligible), key=_importance)
        ganged |= {pod.uid for pod in bound}
        min_member = groups[key].spec.min_member if key in groups else 0
        core = bound[: min_member - present.succeeded] if min_member > present.succeeded else []
        single += bound[len(core) :]
        if core:
            victims.append(_victim_group(core))
    single += [pod for pod, _ in snapshot.pods() if pod.uid in eligible and pod.uid not in ganged]
    victims += [_victim_group([pod]) for pod in single]
    return sorted(victims, key=lambda group: (-group.priority, group.started))


def _victim_group(pods: list[PodInfo]) -> VictimGroup:
    return VictimGroup(tuple(pods), max(pod.spec.priority for pod in pods), min(_started(pod) for pod in pods))


def _started(pod: PodInfo) -> dt.datetime:
    return pod.status.start_time or pod.created


def _importance(pod: PodInfo) -> tuple[int, dt.datetime, str]:
    return (-pod.spec.priority, _started(pod), pod.full_name)


def find_candidate(
    pod: PodInfo, snapshot: Snapshot, lower: list[VictimGroup], terminating: Iterable[PodInfo]
) -> PreemptionResult:
    """lower: possible victims; terminating: pods whose resources will be free anyway."""
    candidates, statuses = [], []
    with _without(snapshot, terminating):
        for node_info in snapshot.node_infos.values():
            candidate, status = _dry_run(pod, node_info, snapshot, [group for group in lower if group.is_on(node_info.node.name)])
            if candidate is not None and candidate.victims:
                candidates.append(candidate)
            statuses.append(status)
    return PreemptionResult(min(candidates, key=_cost) if candidates else None, statuses)


def find_gang_candidate(
    fits: Fits, snapshot: Snapshot, lower: list[VictimGroup], terminating: Iterable[PodInfo]
) -> Candidate | None:
    with _without(snapshot, terminating):
        candidate = _select_victims(fits, snapshot, lower)
    return candidate if candidate and candidate.victims else None


def _dry_run(
    pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot, lower: list[VictimGroup]
) -> tuple[Candidate | None, FilterStatus]:
    status = filters.run_filters(pod, node_info, snapshot)
    if status is None or status.unresolvable:
        return None, FilterStatus((messages.PREEMPTION_NOT_HELPFUL if status else messages.NO_VICTIMS,), True)
    if not lower:
        return None, FilterStatus((messages.NO_VICTIMS,), True)
    last: list[FilterStatus] = []

    def fits() -> NodeNames | None:
        status = filters.run_filters(pod, node_info, snapshot)
        last[:] = [status or FilterStatus((messages.PREEMPTION_NOT_HELPFUL,), True)]
        return {pod.uid: node_info.node.name} if status is None else None

    return _select_victims(fits, snapshot, lower), last[0]


def _select_victims(fits: Fits, snapshot: Snapshot, lower: list[VictimGroup]) -> Candidate | None:
    """Removes the least important groups until the preemptor fits, then reprieves those that need not be removed.

    The number removed doubles in each round: usually a few of a thousand are enough.
    """
    kept, removed = len(lower), 0
    while kept and (removed == 0 or fits() is None):
        before, kept = kept, max(kept - max(removed, 1), 0)
        removed = len(lower) - kept
        for group in lower[kept:before]:
            _remove_pods(snapshot, group.pods)
    if fits() is None:
        for group in lower:
            _add_pods(snapshot, group.pods)
        return None
    victims = _without_reprieved(fits, snapshot, lower[kept:])
    nodes = fits()
    for group in victims:
        _add_pods(snapshot, group.pods)
    return None if nodes is None else Candidate([pod for group in victims for pod in group.pods], nodes)


def _without_reprieved(fits: Fits, snapshot: Snapshot, lower: list[VictimGroup]) -> list[VictimGroup]:
    """Reprieves halves at a time: of a thousand groups most are reprieved."""
    for group in lower:
        _add_pods(snapshot, group.pods)
    if fits() is not None:
        return []
    for group in lower:
        _remove_pods(snapshot, group.pods)
    if len(lower) == 1:
        return lower
    half = len(lower) // 2
    return _without_reprieved(fits, snapshot, lower[:half]) + _without_reprieved(fits, snapshot, lower[half:])


def _cost(candidate: Candidate) -> tuple[int, int, int, float]:
    """kube-scheduler's order: lowest highest priority, lowest sum of priorities, fewest victims, latest start."""
    highest = max(pod.spec.priority for pod in candidate.victims)
    oldest = min(_started(pod) for pod in candidate.victims if pod.spec.priority == highest)
    return (
        highest,
        sum(pod.spec.priority + _PRIORITY_OFFSET for pod in candidate.victims),
        len(candidate.victims),
        -oldest.timestamp(),
    )


@contextmanager
def _without(snapshot: Snapshot, terminating: Iterable[PodInfo]) -> Iterator[None]:
    removed = [pod for pod in terminating if pod.uid in getattr(snapshot.node_infos.get(pod.spec.node_name), "pods", ())]
    _remove_pods(snapshot, removed)
    try:
        yield
    finally:
        _add_pods(snapshot, removed)


def _remove_pods(snapshot: Snapshot, pods: Iterable[PodInfo]) -> None:
    for pod in pods:
        snapshot.remove_pod(pod, pod.spec.node_name)


def _add_pods(snapshot: Snapshot, pods: Iterable[PodInfo]) -> None:
    for pod in pods:
        snapshot.add_pod(pod, pod.spec.node_name)
