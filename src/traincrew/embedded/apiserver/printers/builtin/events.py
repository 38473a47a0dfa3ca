"""Events, in the core group and in events.k8s.io."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.apimachinery.durations import Ages
from traincrew.embedded.apiserver.printers.builtin.cells import Fields, Metadata
from traincrew.embedded.apiserver.printers.columns import Printer, definitions


class Involved(Fields):
    kind: str = ""
    name: str = ""
    field_path: str = ""


class PrintedSource(Fields):
    component: str = ""
    host: str = ""


class PrintedSeries(Fields):
    count: int = 0
    last_observed_time: str | None = None


class PrintedEvent(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    involved_object: Involved = msgspec.field(default_factory=Involved)
    type: str = ""
    reason: str = ""
    message: str = ""
    source: PrintedSource = msgspec.field(default_factory=PrintedSource)
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    count: int = 0
    series: PrintedSeries | None = None
    reporting_controller: str = msgspec.field(name="reportingComponent", default="")
    reporting_instance: str = ""


class NewEvent(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    regarding: Involved = msgspec.field(default_factory=Involved)
    type: str = ""
    reason: str = ""
    note: str = ""
    deprecated_source: PrintedSource = msgspec.field(default_factory=PrintedSource)
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    event_time: str | None = None
    deprecated_count: int = 0
    series: PrintedSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""


def _event(event: PrintedEvent, ages: Ages) -> list[Any]:
    first = ages.since(event.first_timestamp or event.event_time)
    last = ages.since(event.last_timestamp) if event.last_timestamp else first
    count = event.count or 1
    if event.series is not None:
        last, count = ages.since(event.series.last_observed_time), event.series.count
    involved = event.involved_object
    target = f"{involved.kind.lower()}/{involved.name}" if involved.name else involved.kind.lower()
    cells = [last, event.type, event.reason, target, involved.field_path, _source(event), event.message.strip()]
    return [*cells, first, count, event.metadata.name]


def _source(event: PrintedEvent) -> str:
    component = event.source.component or event.reporting_controller
    host = event.source.host or event.reporting_instance
    return f"{component}, {host}" if host else component


def _new_event(event: NewEvent, ages: Ages) -> list[Any]:
    core = PrintedEvent(
        metadata=event.metadata,
        involved_object=event.regarding,
        type=event.type,
        reason=event.reason,
        message=event.note,
        source=event.deprecated_source,
        first_timestamp=event.deprecated_first_timestamp,
        last_timestamp=event.deprecated_last_timestamp,
        event_time=event.event_time,
        count=event.deprecated_count,
        series=event.series,
        reporting_controller=event.reporting_controller,
        reporting_instance=event.reporting_instance,
    )
    return _event(core, ages)


_SEEN = ("Last Seen", "Type", "Reason", "Object", "Subobject*", "Source*", "Message", "First Seen*", "Count*", "Name*")
PRINTERS = {
    ("", "Event"): Printer(definitions(*_SEEN), PrintedEvent, _event),
    ("events.k8s.io", "Event"): Printer(definitions(*_SEEN), NewEvent, _new_event),
}
