"""Correlation of events as client-go does it: repetitions are counted, similar events combined, floods cut off. PURE."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import OrderedDict
from typing import TypeVar

from traincrew.client import events
from traincrew.client.events import RecordedEvent

T = TypeVar("T")
Key = tuple[str, ...]

CACHE_SIZE = 4096
MAX_SIMILAR, SIMILAR_INTERVAL = 10, dt.timedelta(minutes=10)
"""Number of events that differ only in their message, within this interval of each other, from which they are combined."""
SPAM_BURST, SPAM_REFILL = 25, 1 / 300
"""Burst of the spam filter for one object, and the tokens that the filter regains per second."""


@dataclasses.dataclass
class Observation:
    """An Event object and the occurrences that it counts."""

    message: str
    first: dt.datetime
    count: int = 0
    name: str = ""
    """Empty: the object is not created yet."""

    @property
    def series(self) -> events.Series:
        return events.Series(self.message, self.first, self.count)


@dataclasses.dataclass
class _Aggregate:
    messages: set[str]
    last: dt.datetime


class Correlator:
    def __init__(self) -> None:
        self._observations: OrderedDict[Key, Observation] = OrderedDict()
        self._aggregates: OrderedDict[Key, _Aggregate] = OrderedDict()
        self._spam_filter: OrderedDict[Key, tuple[float, dt.datetime]] = OrderedDict()

    def correlate(self, event: RecordedEvent) -> Observation | None:
        """The object to create or to update; None: the event is dropped."""
        combined = self._is_combined(event)
        if not self._passes_spam_filter(event):
            return None
        message = f"(combined from similar events): {event.message}" if combined else event.message
        key = _aggregate_key(event) if combined else (*_aggregate_key(event), event.message)
        observation = self._observations.setdefault(key, Observation(message, event.time))
        self._observations.move_to_end(key)
        observation.message = message
        observation.count += 1
        _evict(self._observations)
        return observation

    def _is_combined(self, event: RecordedEvent) -> bool:
        key = _aggregate_key(event)
        aggregate = self._aggregates.get(key)
        if aggregate is None or event.time - aggregate.last > SIMILAR_INTERVAL:
            aggregate = self._aggregates[key] = _Aggregate(set(), event.time)
            _evict(self._aggregates)
        aggregate.last = event.time
        aggregate.messages.add(event.message)
        return len(aggregate.messages) > MAX_SIMILAR - 1

    def _passes_spam_filter(self, event: RecordedEvent) -> bool:
        key = _object_key(event)
        tokens, last = self._spam_filter.get(key, (float(SPAM_BURST), event.time))
        tokens = min(float(SPAM_BURST), tokens + max(0.0, (event.time - last).total_seconds()) * SPAM_REFILL)
        self._spam_filter[key] = (tokens - 1 if tokens >= 1 else tokens, event.time)
        _evict(self._spam_filter)
        return tokens >= 1


def _object_key(event: RecordedEvent) -> Key:
    involved = event.involved
    return (event.source.component, involved.kind, involved.namespace, involved.name, involved.uid, involved.api_version)


def _aggregate_key(event: RecordedEvent) -> Key:
    return (*_object_key(event), event.type, event.reason)


def _evict(cache: OrderedDict[Key, T]) -> None:
    while len(cache) > CACHE_SIZE:
        cache.popitem(last=False)
