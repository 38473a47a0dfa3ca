"""Events of a job and its pods."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.model.lenient_decoding import LenientDecoder
from traincrew.model.meta import Meta, Struct, Time


class ListedReference(Struct, gc=False):
    kind: str = ""
    name: str = ""
    uid: str = ""


class ListedSeries(Struct, gc=False):
    count: int = 0
    last_observed_time: Time | None = None


class ListedSource(Struct, gc=False):
    component: str = ""


class ListedEvent(Struct):
    metadata: Meta = Meta()
    type: str = "Normal"
    reason: str = ""
    message: str = ""
    count: int | None = None
    first_timestamp: Time | None = None
    last_timestamp: Time | None = None
    event_time: Time | None = None
    series: ListedSeries | None = None
    involved_object: ListedReference = ListedReference()
    source: ListedSource = ListedSource()
    reporting_component: str = ""

    @property
    def time(self) -> Time | None:
        observed = self.series.last_observed_time if self.series is not None else None
        return observed or self.last_timestamp or self.event_time or self.first_timestamp

    @property
    def times(self) -> int:
        return (self.series.count if self.series is not None else 0) or self.count or 1


_decoder: LenientDecoder[ListedEvent] = LenientDecoder(ListedEvent)


def decode(raw: bytes) -> ListedEvent:
    return _decoder.decode(raw)[0]


def in_order(events: Iterable[ListedEvent]) -> list[ListedEvent]:
    """Sort by time. Events without a time come last."""
    return sorted(events, key=lambda each: (each.time is None, each.time.timestamp() if each.time else 0.0))


def warnings(events: Iterable[ListedEvent]) -> list[ListedEvent]:
    return [each for each in in_order(events) if each.type == "Warning"]
