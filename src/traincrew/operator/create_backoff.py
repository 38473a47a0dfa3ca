"""Back-off of rejected creates of one job.

Objects of one resource are rejected for the same reason: an invalid template, a quota. So after a rejection one of them is
tried at a time, with growing delays. When one is accepted, all are tried again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from traincrew.apimachinery import backoff
from traincrew.model.resources import Resource
from traincrew.planner.actions import Action, Create

ObjectName = tuple[Resource, str]

FIRST_RETRY, LONGEST_RETRY = 1.0, 60.0


def delay(tries: int) -> float:
    """tries: 1 or more."""
    return backoff.exponential_delay(tries, FIRST_RETRY, LONGEST_RETRY)


@dataclasses.dataclass
class CreateBackoff:
    retry_at: dict[Resource, float] = dataclasses.field(default_factory=dict)
    """When the next object of the resource may be tried (loop time)."""
    _rejected_rounds: dict[Resource, int] = dataclasses.field(default_factory=dict)
    _tries: dict[ObjectName, int] = dataclasses.field(default_factory=dict)

    def rejected(self, name: ObjectName, now: float) -> float:
        """Returns the seconds until the next try. Rejections of objects that were tried together count once."""
        resource = name[0]
        self._tries[name] = self._tries.get(name, 0) + 1
        if self.retry_at.get(resource, now) <= now:
            rounds = self._rejected_rounds[resource] = self._rejected_rounds.get(resource, 0) + 1
            self.retry_at[resource] = now + delay(rounds)
        return self.retry_at[resource] - now

    def end(self, resource: Resource) -> None:
        """An object of the resource was accepted, or none is planned any more that was rejected."""
        self.retry_at.pop(resource, None)
        self._rejected_rounds.pop(resource, None)
        for name in [each for each in self._tries if each[0] == resource]:
            del self._tries[name]

    def admitted(self, actions: Sequence[Action], now: float) -> list[Action]:
        """The actions without the creates that have to wait. Of a resource that is due, the object with the fewest tries."""
        chosen: dict[Resource, Create] = {}
        for action in actions:
            if isinstance(action, Create) and self.retry_at.get(action.resource, now + 1) <= now:
                known = chosen.setdefault(action.resource, action)
                if self._tries.get((action.resource, action.name), 0) < self._tries.get((known.resource, known.name), 0):
                    chosen[action.resource] = action
        return [
            action
            for action in actions
            if not isinstance(action, Create) or action.resource not in self.retry_at or chosen.get(action.resource) is action
        ]
