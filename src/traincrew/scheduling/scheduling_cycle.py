"""A scheduling cycle: decides for all pending pods which are bound, which preempt others, and why the rest is unschedulable."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from traincrew.scheduling import filters, gangs, pod_groups, scores, volumes
from traincrew.scheduling.decisions import Binding, Decisions, NodeSelection, Profile, SchedulingContext
from traincrew.scheduling.failure_handler import FailureHandler, FitError
from traincrew.scheduling.filters import FilterStatus
from traincrew.scheduling.gangs import SchedulingUnit
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.pod_matches import PodMatcher
from traincrew.scheduling.snapshot import Snapshot

MAX_PAIRS = 5_000
MAX_SLICE = 1 << 20
"""Pairs of pods, and bytes of their terms, that are evaluated between two steps: about ten milliseconds."""
MAX_WORK = 100 << 20
"""Bytes of terms that are evaluated in one cycle, but for the pods of one gang. The next cycle needs none of them again."""


def schedule(pods: Sequence[PodInfo], nodes: Iterable[Node], state: SchedulingContext, profile: Profile) -> Decisions:
    """pods: all pods of the cluster, assumed pods with their nodes."""
    cycle = SchedulingCycle(pods, nodes, state, profile, PodMatcher())
    for _ in cycle.steps(math.inf):
        pass
    return cycle.decisions


class SchedulingCycle:
    def __init__(
        self,
        pods: Sequence[PodInfo],
        nodes: Iterable[Node],
        state: SchedulingContext,
        profile: Profile,
        matcher: PodMatcher,
    ) -> None:
        self._pods, self._state, self._profile = pods, state, profile
        self._snapshot = Snapshot(nodes, profile.overcommitted, state.storage, state.namespaces, matcher)
        for pod in pods:
            if pod.spec.node_name and not pod.finished:
                self._snapshot.add_pod(pod, pod.spec.node_name)
        self._gangs = gangs.members_by_gang(pods)
        self.decisions = Decisions()
        enqueue = pod_groups.EnqueueAction(self._snapshot, state.priorities, state.now, profile.reservation_delay)
        self.decisions.groups = pod_groups.status_updates(state.groups, self._gangs, enqueue)
        self._not_enqueued = {each.key for each in self.decisions.groups if each.insufficient}
        self._failures = FailureHandler(self._snapshot, self._gangs, state, profile, self.decisions)
        self._failures.reservations += enqueue.reservations

    def steps(self, max_work: float = MAX_WORK) -> Iterator[None]:
        """The caller may do other things between two steps. The decisions are ready when the iterator is exhausted."""
        matcher = self._snapshot.matcher
        limit = matcher.work + max_work
        for unit in gangs.queue(self._pods, self._profile.scheduler_names, self._state.groups, self._gangs):
            if matcher.work > limit and not matcher.is_full:
                self.decisions.incomplete = True
                return
            if not self._failures.reject_early(unit, unit.key in self._not_enqueued):
                yield from self._match(unit)
                self._schedule_unit(unit)
            yield

    def _match(self, unit: SchedulingUnit) -> Iterator[None]:
        """Evaluates the terms that the filters will need: a filter cannot be interrupted."""
        matcher, done = self._snapshot.matcher, self._snapshot.matcher.work
        for number, (owner, other) in enumerate(self._pairs(unit), 1):
            matcher.of(owner, other)
            if matcher.work - done > MAX_SLICE or number % MAX_PAIRS == 0:
                yield
                done = matcher.work

    def _pairs(self, unit: SchedulingUnit) -> Iterator[tuple[PodInfo, PodInfo]]:
        """Pods of which the first may select the second one."""
        for pod in unit.pods:
            if pod.selection_key:
                yield from ((pod, other) for other, _ in self._snapshot.pods())
                yield from ((pod, other) for other in unit.pods)
            yield from ((other, pod) for other, _ in self._snapshot.anti_affinity_pods.values())

    def _schedule_unit(self, unit: SchedulingUnit) -> None:
        if unit.key is None or not unit.min_required:
            for pod in unit.pods:
                self._schedule_pod(pod)
            return
        assumed, fit_errors = self._assume(unit.pods)
        if len(assumed) >= unit.min_required:
            self._bind(assumed)
            for each in fit_errors:
                self._failures.handle_pod(each)
        else:
            self._undo(assumed)
            self._failures.handle_gang(unit, fit_errors, lambda: self._find_nodes(unit))

    def _schedule_pod(self, pod: PodInfo) -> None:
        if self._failures.reject_known(pod):
            return
        node_info, statuses = self._find_node(pod)
        if node_info is None:
            self._failures.handle_pod(FitError(pod, statuses))
        else:
            self._snapshot.add_pod(pod, node_info.node.name)
            self._bind([(pod, node_info.node.name)])

    def _find_node(self, pod: PodInfo) -> tuple[NodeInfo | None, list[FilterStatus]]:
        """The best node, or why the pod fits none."""
        nominated = self._snapshot.node_infos.get(pod.status.nominated_node_name)
        if nominated is not None and filters.run_filters(pod, nominated, self._snapshot) is None:
            return nominated, []
        feasible, statuses = [], []
        for node_info in self._snapshot.node_infos.values():
            if (status := filters.run_filters(pod, node_info, self._snapshot)) is None:
                feasible.append(node_info)
            else:
                statuses.append(status)
        return (scores.select_host(pod, feasible, self._snapshot), []) if feasible else (None, statuses)

    def _assume(self, pods: Iterable[PodInfo]) -> tuple[list[tuple[PodInfo, str]], list[FitError]]:
        """Adds as many pods to the snapshot as fit."""
        assumed, fit_errors = [], []
        for pod in pods:
            if reason := volumes.unresolvable_reason(pod, self._state.storage):
                fit_errors.append(FitError(pod, [], reason))
                continue
            node_info, statuses = self._find_node(pod)
            if node_info is None:
                fit_errors.append(FitError(pod, statuses))
            else:
                self._snapshot.add_pod(pod, node_info.node.name)
                assumed.append((pod, node_info.node.name))
        return assumed, fit_errors

    def _undo(self, assumed: Iterable[tuple[PodInfo, str]]) -> None:
        for pod, node in assumed:
            self._snapshot.remove_pod(pod, node)

    def _find_nodes(self, unit: SchedulingUnit) -> dict[str, str] | None:
        assumed, _ = self._assume(unit.pods)
        self._undo(assumed)
        return {pod.uid: node for pod, node in assumed} if len(assumed) >= unit.min_required else None

    def _bind(self, assumed: list[tuple[PodInfo, str]]) -> None:
        """Claims that wait for a node come first. All pods are bound together once their claims are."""
        unbound = False
        for pod, node in assumed:
            for claim in volumes.unbound_claims(pod, self._state.storage) if pod.spec.volumes else ():
                unbound = True
                if volumes.SELECTED_NODE not in claim.metadata.annotations:
                    self.decisions.node_selections.append(NodeSelection(claim, node))
        if not unbound:
            self.decisions.bindings += [Binding(pod, node) for pod, node in assumed]
