"""A scheduling cycle: decides for all pending pods which are bound, which preempt others, and why the rest is unschedulable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from traincrew.scheduling import filters, gangs, pod_groups, scores, volumes
from traincrew.scheduling.decisions import Binding, Decisions, NodeSelection, Profile, SchedulingContext
from traincrew.scheduling.failure_handler import FailureHandler, FitError
from traincrew.scheduling.filters import FilterStatus
from traincrew.scheduling.gangs import SchedulingUnit
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot


def schedule(pods: Sequence[PodInfo], nodes: Iterable[Node], state: SchedulingContext, profile: Profile) -> Decisions:
    """pods: all pods of the cluster, assumed pods with their nodes."""
    return _SchedulingCycle(pods, list(nodes), state, profile).run()


class _SchedulingCycle:
    def __init__(self, pods: Sequence[PodInfo], nodes: list[Node], state: SchedulingContext, profile: Profile) -> None:
        self._pods, self._state, self._profile = pods, state, profile
        self._snapshot = Snapshot(nodes, profile.overcommitted, state.storage, state.namespaces)
        for pod in pods:
            if pod.spec.node_name and not pod.finished:
                self._snapshot.add_pod(pod, pod.spec.node_name)
        self._gangs = gangs.members_by_gang(pods)
        self._decisions = Decisions()
        enqueue = pod_groups.EnqueueAction(self._snapshot, state.priorities, state.now, profile.reservation_delay)
        self._decisions.groups = pod_groups.status_updates(state.groups, self._gangs, enqueue)
        self._not_enqueued = {each.key for each in self._decisions.groups if each.insufficient}
        self._failures = FailureHandler(self._snapshot, self._gangs, state, profile, self._decisions)
        self._failures.reservations += enqueue.reservations

    def run(self) -> Decisions:
        for unit in gangs.queue(self._pods, self._profile.scheduler_names, self._state.groups, self._gangs):
            if not self._failures.reject_early(unit, unit.key in self._not_enqueued):
                self._schedule_unit(unit)
        return self._decisions

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
                    self._decisions.node_selections.append(NodeSelection(claim, node))
        if not unbound:
            self._decisions.bindings += [Binding(pod, node) for pod, node in assumed]
