"""Input and output of a scheduling cycle: the profile and the cluster state, and the decisions."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.scheduling import pod_groups
from traincrew.scheduling.gangs import PodGroups
from traincrew.scheduling.objects import PersistentVolumeClaim
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.volumes import StorageObjects

SCHEDULER_NAMES = frozenset(("default-scheduler", "volcano", "scheduler-plugins-scheduler"))


@dataclasses.dataclass(frozen=True)
class Profile:
    scheduler_names: frozenset[str] = SCHEDULER_NAMES
    """Pods that name one of these schedulers are scheduled."""
    overcommitted: frozenset[str] = frozenset()
    """Resources of which pods may request more than the node has."""
    reservation_delay: dt.timedelta = dt.timedelta(seconds=30)
    """How long a gang waits before the resources that it lacks are reserved for it."""
    max_preemptions: int = 32
    """Preemptions that one cycle considers: each is expensive in a cluster with many pods."""
    suggests_options: bool = False
    """Whether messages suggest options of `traincrew up`."""


def single_machine_profile(overcommitted: Iterable[str] = ("cpu",)) -> Profile:
    """The profile of `traincrew up`. Training tolerates shared cores, but not missing memory."""
    return Profile(overcommitted=frozenset(overcommitted), suggests_options=True)


@dataclasses.dataclass(frozen=True)
class SchedulingContext:
    """The input of a cycle in addition to pods and nodes."""

    groups: PodGroups = dataclasses.field(default_factory=dict)
    priorities: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """The values of priority classes, by name."""
    storage: StorageObjects = StorageObjects()
    namespaces: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    now: dt.datetime = times.ZERO


class Binding(NamedTuple):
    pod: PodInfo
    node: str


class Unschedulable(NamedTuple):
    pod: PodInfo
    message: str
    nominated: str | None = None
    """The node on which victims are terminating for the pod. Empty: no longer any. None: unchanged."""


class Preemption(NamedTuple):
    victim: PodInfo
    preemptor: PodInfo


class NodeSelection(NamedTuple):
    """A claim whose volume is provisioned once the node of its first consumer is known."""

    claim: PersistentVolumeClaim
    node: str


@dataclasses.dataclass
class Decisions:
    bindings: list[Binding] = dataclasses.field(default_factory=list)
    unschedulable: list[Unschedulable] = dataclasses.field(default_factory=list)
    preemptions: list[Preemption] = dataclasses.field(default_factory=list)
    node_selections: list[NodeSelection] = dataclasses.field(default_factory=list)
    groups: list[pod_groups.PodGroupUpdate] = dataclasses.field(default_factory=list)
    incomplete: bool = False
    """Some pods or preemptions were not considered. Run another cycle once these decisions are written."""
