"""The phases of PodGroups: which gangs may make their pods, and what became of them."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from traincrew.scheduling import gangs, resource_requests
from traincrew.scheduling.gangs import GangKey, Groups, Members, Order
from traincrew.scheduling.objects import Group
from traincrew.scheduling.pod_info import EVER
from traincrew.scheduling.resource_requests import Amounts
from traincrew.scheduling.snapshot import Snapshot

OVERUSED = "resource in cluster is overused"
PENDING, INQUEUE, RUNNING = "Pending", "Inqueue", "Running"


class Hold(NamedTuple):
    """Resources that a gang has waited for so long that nobody behind it may have them."""

    order: Order
    names: frozenset[str]
    title: str


class Change(NamedTuple):
    """A PodGroup's status as it should be."""

    key: GangKey
    group: Group
    phase: str
    running: int
    succeeded: int
    failed: int
    short: tuple[str, ...] = ()
    """What it would need to be let in, where it is not."""


@dataclasses.dataclass
class Queue:
    """Lets gangs of Volcano in, by the room that there is for all they need at the least."""

    world: Snapshot
    priorities: Mapping[str, int]
    now: dt.datetime
    patience: dt.timedelta
    holds: list[Hold] = dataclasses.field(default_factory=list)
    _promised: Amounts = dataclasses.field(default_factory=dict)

    def order(self, key: GangKey, group: Group) -> Order:
        since = group.metadata.creation_timestamp or EVER
        return (-self.priorities.get(group.spec.priority_class_name, 0), since, key.title)

    def short(self, group: Group, order: Order) -> tuple[str, ...]:
        least = _least(group)
        room = self._room(-order[0]) if least else {}
        held = {name for hold in self.holds if order > hold.order for name in hold.names}
        law = self.world.laws.overcommitted
        return tuple(sorted(n for n, v in least.items() if n not in law and (v > room.get(n, 0) or n in held)))

    def _room(self, priority: int) -> Amounts:
        """What is not used by pods that it could not preempt."""
        room = resource_requests.total(each.capacity for each in self.world.rooms.values())
        for pod, _ in self.world.here():
            if pod.spec.priority >= priority:
                resource_requests.add(room, {name: -value for name, value in pod.wanted.items()})
        resource_requests.add(room, {name: -value for name, value in self._promised.items()})
        return room

    def promise(self, group: Group, members: Members) -> None:
        """What of its least is not on a node yet."""
        taken = resource_requests.total(pod.wanted for pod in members.standing)
        for name, value in _least(group).items():
            self._promised[name] = self._promised.get(name, 0) + max(value - taken.get(name, 0), 0)

    def wait(self, key: GangKey, order: Order, short: tuple[str, ...]) -> None:
        capacity = resource_requests.total(each.capacity for each in self.world.rooms.values())
        if self.now - order[1] >= self.patience and all(capacity.get(name, 0) for name in short):
            self.holds.append(Hold(order, frozenset(short), key.title))


def phases(groups: Groups, members: Mapping[GangKey, Members], queue: Queue) -> list[Change]:
    """What each group's status should be now, those that waited longest first."""
    changes = []
    for key, group in sorted(groups.items(), key=lambda each: queue.order(*each)):
        held = members.get(key) or Members()
        phase = _volcano(group, held) if key.system == gangs.VOLCANO else _plugins(group, held)
        short: tuple[str, ...] = ()
        if key.system == gangs.VOLCANO and phase == PENDING:
            order = queue.order(key, group)
            if short := queue.short(group, order):
                queue.wait(key, order, short)
            else:
                phase = INQUEUE
        if phase == INQUEUE:
            queue.promise(group, held)
        changes.append(Change(key, group, phase, held.running, held.succeeded, held.failed, short))
    return changes


def _least(group: Group) -> Amounts:
    listed = resource_requests.read(group.spec.min_resources or {})
    return {name.removeprefix("requests."): value for name, value in listed.items() if not name.startswith("limits.")}


def _volcano(group: Group, members: Members) -> str:
    allocated = len(members.standing) + members.failed
    if allocated and allocated >= group.spec.min_member:
        return "Completed" if members.succeeded + members.failed == allocated else RUNNING
    return INQUEUE if group.status.phase == INQUEUE else PENDING


def _plugins(group: Group, members: Members) -> str:
    least, done = group.spec.min_member, members.succeeded
    if group.status.phase in ("Finished", "Failed"):
        return group.status.phase
    if not members.total or members.total < least:
        return PENDING
    if done >= least:
        return "Finished"
    if members.failed and members.failed + members.running + done >= least:
        return "Failed"
    return RUNNING if done + members.running >= least else "Scheduling"
