"""Pods that start together or not at all, by the PodGroups of Volcano and of scheduler-plugins."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from traincrew.scheduling.objects import Group
from traincrew.scheduling.pod_info import EVER, PodInfo

VOLCANO, PLUGINS = "volcano", "plugins"
ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
LABEL = "scheduling.x-k8s.io/pod-group"
DEFAULT = "default-scheduler"


class GangKey(NamedTuple):
    system: str
    namespace: str
    name: str

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}"


Groups = Mapping[GangKey, Group]
Order = tuple[int, dt.datetime, str]
"""The lesser goes first: higher priority, then age, then name."""


@dataclasses.dataclass
class Members:
    """A gang's pods that are not gone."""

    standing: list[PodInfo] = dataclasses.field(default_factory=list)
    """On a node, or through with their work."""
    pending: list[PodInfo] = dataclasses.field(default_factory=list)
    others: int = 0
    """Gated, failed, or on their way out."""
    failed: int = 0
    running: int = 0
    succeeded: int = 0

    @property
    def total(self) -> int:
        return len(self.standing) + len(self.pending) + self.others

    def take(self, pod: PodInfo) -> None:
        self.failed += pod.status.phase == "Failed"
        self.succeeded += pod.status.phase == "Succeeded"
        self.running += pod.status.phase == "Running"
        if pod.pending:
            self.pending.append(pod)
        elif pod.status.phase == "Succeeded" or (pod.spec.node_name and not pod.terminating and not pod.finished):
            self.standing.append(pod)
        else:
            self.others += 1


@dataclasses.dataclass
class Unit:
    """What is placed at one stroke: a pod of its own, or the waiting pods of a gang."""

    pods: list[PodInfo]
    order: Order
    key: GangKey | None = None
    group: Group | None = None
    members: Members = dataclasses.field(default_factory=Members)
    needed: int = 1
    """So many of the pods must find a place, or none does."""

    @property
    def priority(self) -> int:
        return min(pod.spec.priority for pod in self.pods)

    @property
    def running(self) -> bool:
        """Whether the gang stands already, and these only fill it up."""
        return self.key is not None and bool(self.members.standing)


def mark(pod: PodInfo) -> GangKey | None:
    """The gang that a pod says it belongs to."""
    namespace = pod.metadata.namespace
    for annotation in ANNOTATIONS:
        if name := pod.metadata.annotations.get(annotation):
            return GangKey(VOLCANO, namespace, name)
    if name := pod.metadata.labels.get(LABEL):
        return GangKey(PLUGINS, namespace, name)
    return None


def assemble(pods: Iterable[PodInfo]) -> dict[GangKey, Members]:
    found: dict[GangKey, Members] = {}
    for pod in pods:
        if (key := mark(pod)) is not None:
            found.setdefault(key, Members()).take(pod)
    return found


def order_of(pod: PodInfo) -> Order:
    return (-pod.spec.priority, pod.since, pod.title)


def units(pods: Iterable[PodInfo], served: Iterable[str], groups: Groups, gangs: Mapping[GangKey, Members]) -> list[Unit]:
    """In the order in which they are to be placed."""
    names, found, whole = frozenset(served), [], set()
    for pod in pods:
        if not pod.pending or pod.spec.scheduler_name not in names:
            continue
        key = mark(pod)
        if key is None or (key not in groups and pod.spec.scheduler_name == DEFAULT):
            found.append(Unit([pod], order_of(pod)))
        elif key not in whole:
            whole.add(key)
            found.append(_gang(key, groups.get(key), gangs[key], names))
    return sorted(found, key=lambda unit: unit.order)


def _gang(key: GangKey, group: Group | None, members: Members, served: frozenset[str]) -> Unit:
    pods = sorted((each for each in members.pending if each.spec.scheduler_name in served), key=order_of)
    since = (group.metadata.creation_timestamp if group else None) or min((pod.since for pod in pods), default=EVER)
    order = (min(-pod.spec.priority for pod in pods), since, key.title)
    least = group.spec.min_member if group else 0
    return Unit(pods, order, key, group, members, max(least - len(members.standing), 0))
