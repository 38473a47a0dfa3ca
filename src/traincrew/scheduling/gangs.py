"""Pods that start together or not at all, by the PodGroups of Volcano and of scheduler-plugins."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.scheduling.objects import PodGroup
from traincrew.scheduling.pod_info import PodInfo

VOLCANO, PLUGINS = "volcano", "plugins"
GROUP_ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
DEFAULT_SCHEDULER = "default-scheduler"


class GangKey(NamedTuple):
    system: str
    namespace: str
    name: str

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"


PodGroups = Mapping[GangKey, PodGroup]
QueueOrder = tuple[int, dt.datetime, str]
"""Sort key: highest priority first, then oldest, then name."""


@dataclasses.dataclass
class GangMembers:
    """The pods of a gang that exist."""

    bound: list[PodInfo] = dataclasses.field(default_factory=list)
    """On a node, or succeeded."""
    pending: list[PodInfo] = dataclasses.field(default_factory=list)
    inactive: int = 0
    """Gated, failed or terminating."""
    failed: int = 0
    running: int = 0
    succeeded: int = 0

    @property
    def total(self) -> int:
        return len(self.bound) + len(self.pending) + self.inactive

    def add(self, pod: PodInfo) -> None:
        self.failed += pod.status.phase == "Failed"
        self.succeeded += pod.status.phase == "Succeeded"
        self.running += pod.status.phase == "Running"
        if pod.pending:
            self.pending.append(pod)
        elif pod.status.phase == "Succeeded" or (pod.spec.node_name and not pod.terminating and not pod.finished):
            self.bound.append(pod)
        else:
            self.inactive += 1


@dataclasses.dataclass
class SchedulingUnit:
    """The unit of scheduling: a single pod, or the pending pods of a gang."""

    pods: list[PodInfo]
    order: QueueOrder
    key: GangKey | None = None
    group: PodGroup | None = None
    members: GangMembers = dataclasses.field(default_factory=GangMembers)
    min_required: int = 1
    """If fewer pods than this fit, none is bound."""

    @property
    def priority(self) -> int:
        return min(pod.spec.priority for pod in self.pods)

    @property
    def joins_running_gang(self) -> bool:
        """Whether some pods of the gang are bound already."""
        return self.key is not None and bool(self.members.bound)


def gang_of(pod: PodInfo) -> GangKey | None:
    """The gang that a pod's annotation or label names."""
    namespace = pod.metadata.namespace
    for annotation in GROUP_ANNOTATIONS:
        if name := pod.metadata.annotations.get(annotation):
            return GangKey(VOLCANO, namespace, name)
    if name := pod.metadata.labels.get(GROUP_LABEL):
        return GangKey(PLUGINS, namespace, name)
    return None


def members_by_gang(pods: Iterable[PodInfo]) -> dict[GangKey, GangMembers]:
    gangs: dict[GangKey, GangMembers] = {}
    for pod in pods:
        if (key := gang_of(pod)) is not None:
            gangs.setdefault(key, GangMembers()).add(pod)
    return gangs


def queue_order(pod: PodInfo) -> QueueOrder:
    return (-pod.spec.priority, pod.created, pod.full_name)


def queue(
    pods: Iterable[PodInfo], scheduler_names: Iterable[str], groups: PodGroups, gangs: Mapping[GangKey, GangMembers]
) -> list[SchedulingUnit]:
    """The units with pending pods, in the order in which they are scheduled."""
    names, units, seen = frozenset(scheduler_names), [], set()
    for pod in pods:
        if not pod.pending or pod.spec.scheduler_name not in names:
            continue
        key = gang_of(pod)
        if key is None or (key not in groups and pod.spec.scheduler_name == DEFAULT_SCHEDULER):
            units.append(SchedulingUnit([pod], queue_order(pod)))
        elif key not in seen:
            seen.add(key)
            units.append(_gang_unit(key, groups.get(key), gangs[key], names))
    return sorted(units, key=lambda unit: unit.order)


def _gang_unit(key: GangKey, group: PodGroup | None, members: GangMembers, scheduler_names: frozenset[str]) -> SchedulingUnit:
    pods = sorted((each for each in members.pending if each.spec.scheduler_name in scheduler_names), key=queue_order)
    since = (group.metadata.creation_timestamp if group else None) or min((pod.created for pod in pods), default=times.ZERO)
    order = (min(-pod.spec.priority for pod in pods), since, key.full_name)
    min_member = group.spec.min_member if group else 0
    return SchedulingUnit(pods, order, key, group, members, max(min_member - len(members.bound), 0))
