"""Handles pods that fit no node: preempts others for them, or records why they are unschedulable."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping

from traincrew.scheduling import filters, messages, preemption, resource_requests, volumes
from traincrew.scheduling.decisions import Decisions, Preemption, Profile, SchedulingContext, Unschedulable
from traincrew.scheduling.filters import FilterStatus
from traincrew.scheduling.gangs import GangKey, GangMembers, SchedulingUnit
from traincrew.scheduling.pod_groups import Reservation
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.preemption import Candidate, Fits, VictimGroup
from traincrew.scheduling.snapshot import Snapshot


@dataclasses.dataclass
class FitError:
    """Why a pod fits no node."""

    pod: PodInfo
    statuses: list[FilterStatus]
    reason: str = ""
    """A reason that does not depend on the nodes."""


class FailureHandler:
    def __init__(
        self,
        snapshot: Snapshot,
        members: Mapping[GangKey, GangMembers],
        state: SchedulingContext,
        profile: Profile,
        decisions: Decisions,
    ) -> None:
        self._snapshot, self._members, self._state, self._profile, self._decisions = snapshot, members, state, profile, decisions
        self.reservations: list[Reservation] = []
        self._messages: dict[Hashable, str] = {}
        self._victim_groups: list[VictimGroup] | None = None
        self._terminating: dict[str, PodInfo] = {pod.uid: pod for pod, _ in snapshot.pods() if pod.terminating}
        self._attempts = 0

    def reject_early(self, unit: SchedulingUnit, waiting: bool) -> bool:
        """Whether the unit is rejected without filtering nodes. waiting: its PodGroup is not enqueued."""
        count = len(self._snapshot.node_infos)
        if not count:
            self._reject_all(unit.pods, messages.NO_NODES)
            return True
        if unit.key is not None and unit.group is None:
            self._reject_all(unit.pods, messages.unresolvable(count, f'pod group "{unit.key.full_name}" not found'))
            return True
        if unit.group is not None and (waiting or len(unit.pods) < unit.min_required):
            self._reject_unready(unit, waiting)
            return True
        return self._reject_reserved(unit)

    def _reject_unready(self, unit: SchedulingUnit, waiting: bool) -> None:
        assert unit.group is not None
        min_member, count = unit.group.spec.min_member, len(self._snapshot.node_infos)
        for pod in unit.pods:
            message = messages.gang_unschedulable(len(unit.pods), len(unit.pods), unit.members.total, min_member)
            if not waiting:
                present = len(unit.members.bound) + len(unit.pods)
                message = messages.unresolvable(count, messages.too_few_siblings(pod.metadata.name, present, min_member))
            self._reject(pod, message, "")

    def _reject_reserved(self, unit: SchedulingUnit) -> bool:
        if unit.joins_running_gang:
            return False
        for reservation in self.reservations:
            needed = "pods" in reservation.names or any(reservation.names & pod.requests.keys() for pod in unit.pods)
            if needed and unit.order > reservation.order:
                reason = f"node(s) were reserved for pod group {reservation.gang}, which has waited longer"
                self._reject_all(
                    unit.pods, messages.no_nodes_available([FilterStatus((reason,), True)] * len(self._snapshot.node_infos))
                )
                return True
        return False

    def reject_known(self, pod: PodInfo) -> bool:
        """Whether the pod is rejected because of its claims, or because an equivalent pod was rejected."""
        if reason := volumes.unresolvable_reason(pod, self._state.storage) if pod.spec.volumes else "":
            self._reject(pod, messages.unresolvable(len(self._snapshot.node_infos), reason), "")
            return True
        if not self._messages or (message := self._messages.get(self._equivalence_class(pod), "")) == "":
            return False
        self._reject(pod, message, "")
        return True

    def handle_pod(self, fit_error: FitError) -> None:
        pod = fit_error.pod
        if fit_error.reason:
            self._reject(pod, messages.unresolvable(len(self._snapshot.node_infos), fit_error.reason), "")
            return
        message = messages.no_nodes_available(fit_error.statuses)
        if ineligible := self._ineligibility([pod]):
            self._reject(pod, f"{message} {ineligible}")
            return
        lower = self._lower_priority(pod.spec.priority)
        if lower and not self._may_attempt():
            return
        result = preemption.find_candidate(pod, self._snapshot, lower, self._terminating.values())
        if result.candidate is not None:
            self._preempt(result.candidate, [pod])
            self._reject(pod, message, result.candidate.nodes[pod.uid])
            return
        message = f"{message} {messages.preemption_failed(result.statuses)}{self._advice(fit_error)}"
        if (equivalent := self._equivalence_class(pod)) is not None:
            self._messages[equivalent] = message
        self._reject(pod, message, "")

    def handle_gang(self, unit: SchedulingUnit, fit_errors: list[FitError], fits: Fits) -> None:
        ineligible = self._ineligibility(unit.pods)
        candidate = None
        if not ineligible and not any(fit_error.reason for fit_error in fit_errors):
            lower = self._lower_priority(unit.priority)
            if lower and not self._may_attempt():
                return
            candidate = preemption.find_gang_candidate(fits, self._snapshot, lower, self._terminating.values()) if lower else None
        if candidate is not None:
            self._preempt(candidate, unit.pods)
        elif not ineligible:
            self._reserve(unit, fits)
        self._reject_gang(unit, fit_errors, ineligible, candidate)

    def _reject_gang(
        self, unit: SchedulingUnit, fit_errors: list[FitError], ineligible: str, candidate: Candidate | None
    ) -> None:
        min_member = unit.group.spec.min_member if unit.group else 0
        by_pod = {fit_error.pod.uid: fit_error for fit_error in fit_errors}
        common = messages.gang_unschedulable(len(fit_errors), len(unit.pods), unit.members.total, min_member)
        after = ineligible
        if not ineligible and candidate is None and fit_errors[0].statuses:
            after = self._preemption_message(fit_errors[0].pod) + self._advice(fit_errors[0])
        for pod in unit.pods:
            fit_error = by_pod.get(pod.uid)
            message = common if fit_error is None else self._fit_error_message(fit_error, after)
            self._reject(pod, message, candidate.nodes.get(pod.uid, "") if candidate else None if ineligible else "")

    def _fit_error_message(self, fit_error: FitError, after: str) -> str:
        if fit_error.reason:
            return messages.unresolvable(len(self._snapshot.node_infos), fit_error.reason)
        return f"{messages.no_nodes_available(fit_error.statuses)} {after}".strip()

    def _preemption_message(self, pod: PodInfo) -> str:
        lower = self._lower_priority(pod.spec.priority)
        return messages.preemption_failed(
            preemption.find_candidate(pod, self._snapshot, lower, self._terminating.values()).statuses
        )

    def _ineligibility(self, pods: list[PodInfo]) -> str:
        """Why the pods may not preempt others: their policy forbids it, or their victims are terminating."""
        if any(pod.spec.preemption_policy == "Never" for pod in pods):
            return messages.PREEMPTION_NEVER
        if not any(self._awaits_victims(pod) for pod in pods):
            return ""
        for pod in pods:
            self._snapshot.add_pod(pod, pod.status.nominated_node_name)
        return messages.PREEMPTION_UNDER_WAY

    def _awaits_victims(self, pod: PodInfo) -> bool:
        node_info = self._snapshot.node_infos.get(pod.status.nominated_node_name)
        if node_info is None:
            return False
        status = filters.run_filters(pod, node_info, self._snapshot)
        if status is not None and status.unresolvable:
            return False
        return any(other.preempted and other.spec.priority < pod.spec.priority for other in node_info.pods.values())

    def _lower_priority(self, priority: int) -> list[VictimGroup]:
        if self._victim_groups is None:
            self._victim_groups = preemption.victim_groups(self._snapshot, self._state.groups, self._members)
        return [group for group in self._victim_groups if group.priority < priority]

    def _may_attempt(self) -> bool:
        self._attempts += 1
        if self._attempts > self._profile.max_preemptions:
            self._decisions.incomplete = True
            return False
        return True

    def _preempt(self, candidate: Candidate, pods: list[PodInfo]) -> None:
        victims = {pod.uid for pod in candidate.victims}
        self._terminating |= {pod.uid: pod for pod in candidate.victims}
        self._victim_groups = [group for group in self._victim_groups or () if group.pods[0].uid not in victims]
        for victim in candidate.victims:
            by = next((pod for pod in pods if candidate.nodes.get(pod.uid) == victim.spec.node_name), pods[0])
            self._decisions.preemptions.append(Preemption(victim, by))
        for pod in pods:
            self._snapshot.add_pod(pod, candidate.nodes.get(pod.uid, ""))

    def _reserve(self, unit: SchedulingUnit, fits: Fits) -> None:
        """Reserves resources for a gang that has waited long and would fit an empty cluster."""
        if unit.key is None or self._state.now - unit.order[1] < self._profile.reservation_delay:
            return
        others = [(pod, node_info.node.name) for pod, node_info in self._snapshot.pods() if pod not in unit.members.bound]
        for pod, node in others:
            self._snapshot.remove_pod(pod, node)
        possible = fits() is not None
        for pod, node in others:
            self._snapshot.add_pod(pod, node)
        if possible:
            self.reservations.append(Reservation(unit.order, self._scarce(unit), unit.key.full_name))

    def _scarce(self, unit: SchedulingUnit) -> frozenset[str]:
        requested = resource_requests.total(pod.requests for pod in unit.pods)
        free = resource_requests.total(node_info.free for node_info in self._snapshot.node_infos.values())
        names = {name for name in requested if name not in self._profile.overcommitted}
        return frozenset({name for name in names if requested[name] > free.get(name, 0)} or names or {"pods"})

    def _advice(self, fit_error: FitError) -> str:
        if not self._profile.suggests_options:
            return ""
        allocatable = resource_requests.maximum(node_info.allocatable for node_info in self._snapshot.node_infos.values())
        message = messages.advice(
            (name for status in fit_error.statuses for name in status.insufficient), fit_error.pod.requests, allocatable
        )
        return f" {message}" if message else ""

    def _equivalence_class(self, pod: PodInfo) -> Hashable:
        """Equal for pods that all nodes treat alike; None if that depends on other pods or on volumes."""
        spec = pod.spec
        if spec.affinity or spec.volumes or spec.topology_spread_constraints or self._snapshot.anti_affinity_pods:
            return None
        if pod.status.nominated_node_name:
            return None
        tolerations = tuple(
            (toleration.key, toleration.operator, toleration.value, toleration.effect) for toleration in spec.tolerations
        )
        placement = (tuple(sorted(pod.requests.items())), tuple(sorted(spec.node_selector.items())), tolerations, pod.ports)
        return (*placement, spec.priority, spec.preemption_policy)

    def _reject_all(self, pods: Iterable[PodInfo], message: str) -> None:
        for pod in pods:
            self._reject(pod, message, "")

    def _reject(self, pod: PodInfo, message: str, nominated: str | None = None) -> None:
        self._decisions.unschedulable.append(Unschedulable(pod, message, nominated))
