"""The phases of PodGroups, of Volcano and of scheduler-plugins."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.scheduling import gangs, resource_requests
from traincrew.scheduling.gangs import GangKey, GangMembers, PodGroups, QueueOrder
from traincrew.scheduling.objects import PodGroup
from traincrew.scheduling.resource_requests import ResourceAmounts
from traincrew.scheduling.snapshot import Snapshot

OVERUSED = "resource in cluster is overused"
PENDING, INQUEUE, RUNNING = "Pending", "Inqueue", "Running"


class Reservation(NamedTuple):
    """Resources that a gang has waited for so long that units behind it in the queue may not use them."""

    order: QueueOrder
    names: frozenset[str]
    gang: str


class PodGroupUpdate(NamedTuple):
    """The status that a PodGroup should have."""

    key: GangKey
    group: PodGroup
    phase: str
    running: int
    succeeded: int
    failed: int
    insufficient: tuple[str, ...] = ()
    """The resources that a pending group lacks to be enqueued."""


@dataclasses.dataclass
class EnqueueAction:
    """Volcano's enqueue action: moves a group from Pending to Inqueue if its minResources are available."""

    snapshot: Snapshot
    priorities: Mapping[str, int]
    now: dt.datetime
    reservation_delay: dt.timedelta
    reservations: list[Reservation] = dataclasses.field(default_factory=list)
    _enqueued: ResourceAmounts = dataclasses.field(default_factory=dict)

    def order(self, key: GangKey, group: PodGroup) -> QueueOrder:
        created = group.metadata.creation_timestamp or times.ZERO
        return (-self.priorities.get(group.spec.priority_class_name, 0), created, key.full_name)

    def insufficient(self, group: PodGroup, order: QueueOrder) -> tuple[str, ...]:
        required = _min_resources(group)
        available = self._available(-order[0]) if required else {}
        reserved = {name for each in self.reservations if order > each.order for name in each.names}
        limited = {name: value for name, value in required.items() if name not in self.snapshot.overcommitted}
        return tuple(sorted(name for name, value in limited.items() if value > available.get(name, 0) or name in reserved))

    def _available(self, priority: int) -> ResourceAmounts:
        """Resources that are neither used by pods of at least that priority nor granted to enqueued groups."""
        available = resource_requests.total(each.allocatable for each in self.snapshot.node_infos.values())
        for pod, _ in self.snapshot.pods():
            if pod.spec.priority >= priority:
                resource_requests.add(available, {name: -value for name, value in pod.requests.items()})
        resource_requests.add(available, {name: -value for name, value in self._enqueued.items()})
        return available

    def enqueue(self, group: PodGroup, members: GangMembers) -> None:
        """Grants the part of minResources that no bound pod uses yet."""
        used = resource_requests.total(pod.requests for pod in members.bound)
        for name, value in _min_resources(group).items():
            self._enqueued[name] = self._enqueued.get(name, 0) + max(value - used.get(name, 0), 0)

    def keep_pending(self, key: GangKey, order: QueueOrder, insufficient: tuple[str, ...]) -> None:
        allocatable = resource_requests.total(each.allocatable for each in self.snapshot.node_infos.values())
        if self.now - order[1] >= self.reservation_delay and all(allocatable.get(name, 0) for name in insufficient):
            self.reservations.append(Reservation(order, frozenset(insufficient), key.full_name))


def status_updates(groups: PodGroups, members: Mapping[GangKey, GangMembers], action: EnqueueAction) -> list[PodGroupUpdate]:
    """The status of every group, in the order of the queue."""
    updates = []
    for key, group in sorted(groups.items(), key=lambda each: action.order(*each)):
        present = members.get(key) or GangMembers()
        phase = _volcano_phase(group, present) if key.system == gangs.VOLCANO else _plugins_phase(group, present)
        insufficient: tuple[str, ...] = ()
        if key.system == gangs.VOLCANO and phase == PENDING:
            order = action.order(key, group)
            if insufficient := action.insufficient(group, order):
                action.keep_pending(key, order, insufficient)
            else:
                phase = INQUEUE
        if phase == INQUEUE:
            action.enqueue(group, present)
        updates.append(PodGroupUpdate(key, group, phase, present.running, present.succeeded, present.failed, insufficient))
    return updates


def _min_resources(group: PodGroup) -> ResourceAmounts:
    listed = resource_requests.parse(group.spec.min_resources or {})
    return {name.removeprefix("requests."): value for name, value in listed.items() if not name.startswith("limits.")}


def _volcano_phase(group: PodGroup, members: GangMembers) -> str:
    allocated = len(members.bound) + members.failed
    if allocated and allocated >= group.spec.min_member:
        return "Completed" if members.succeeded + members.failed == allocated else RUNNING
    return INQUEUE if group.status.phase == INQUEUE else PENDING


def _plugins_phase(group: PodGroup, members: GangMembers) -> str:
    min_member, done = group.spec.min_member, members.succeeded
    if group.status.phase in ("Finished", "Failed"):
        return group.status.phase
    if not members.total or members.total < min_member:
        return PENDING
    if done >= min_member:
        return "Finished"
    if members.failed and members.failed + members.running + done >= min_member:
        return "Failed"
    return RUNNING if done + members.running >= min_member else "Scheduling"
