"""Which events are told, and how: repetitions counted, similar ones joined, floods cut off, as Kubernetes' components do it."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import TypeVar

T = TypeVar("T")

KNOWN = 4096
"""Events remembered, so that a repetition is counted on the first."""
SIMILAR, SPAN = 10, 600.0
"""So many that differ only in the message, within so many seconds of each other, are told as they are."""
BURST, REFILL = 25, 1 / 300
"""Events about one object that are told at once, and how many more each second."""


@dataclasses.dataclass(frozen=True)
class Event:
    component: str
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    type: str
    reason: str
    message: str

    @property
    def subject(self) -> tuple[str, ...]:
        return (self.component, self.kind, self.namespace, self.name, self.uid, self.api_version)

    @property
    def sort(self) -> tuple[str, ...]:
        return (*self.subject, self.type, self.reason)


@dataclasses.dataclass
class Told:
    """One Event object."""

    message: str
    first: float
    count: int = 0
    name: str = ""
    """Empty: it is yet to be made."""


@dataclasses.dataclass
class _Group:
    messages: set[str]
    last: float


class Correlator:
    def __init__(self) -> None:
        self._told: OrderedDict[tuple[str, ...], Told] = OrderedDict()
        self._groups: OrderedDict[tuple[str, ...], _Group] = OrderedDict()
        self._buckets: OrderedDict[tuple[str, ...], tuple[float, float]] = OrderedDict()

    def take(self, event: Event, now: float) -> Told | None:
        """The object to make or to count up; None: it is not told."""
        joined = self._joined(event, now)
        if not self._has_leave(event, now):
            return None
        message = f"(combined from similar events): {event.message}" if joined else event.message
        key = event.sort if joined else (*event.sort, event.message)
        told = self._told.setdefault(key, Told(message, now))
        self._told.move_to_end(key)
        told.message = message
        told.count += 1
        _limit(self._told)
        return told

    def _joined(self, event: Event, now: float) -> bool:
        group = self._groups.get(event.sort)
        if group is None or now - group.last > SPAN:
            group = self._groups[event.sort] = _Group(set(), now)
            _limit(self._groups)
        group.last = now
        group.messages.add(event.message)
        return len(group.messages) > SIMILAR - 1

    def _has_leave(self, event: Event, now: float) -> bool:
        left, last = self._buckets.get(event.subject, (float(BURST), now))
        left = min(float(BURST), left + max(0.0, now - last) * REFILL)
        self._buckets[event.subject] = (left - 1 if left >= 1 else left, now)
        _limit(self._buckets)
        return left >= 1


def _limit(held: OrderedDict[tuple[str, ...], T]) -> None:
    while len(held) > KNOWN:
        held.popitem(last=False)
