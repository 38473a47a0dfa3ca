"""Events of the v1 API: the value that is recorded, and the object that is written."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any, NamedTuple

from traincrew.apimachinery import times
from traincrew.model.meta import Meta
from traincrew.model.resources import Resource

NORMAL, WARNING = "Normal", "Warning"
MESSAGE_LIMIT = 1024
"""The API server rejects longer messages."""


def truncated(message: str) -> str:
    """Done where events are written: callers of a recorder need not do it."""
    return message[:MESSAGE_LIMIT]


class ObjectReference(NamedTuple):
    kind: str
    api_version: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    field_path: str = ""

    def to_json(self) -> dict[str, str]:
        fields = {
            "kind": self.kind, "apiVersion": self.api_version, "namespace": self.namespace, "name": self.name,
            "uid": self.uid, "resourceVersion": self.resource_version, "fieldPath": self.field_path,
        }  # fmt: skip
        return {field: value for field, value in fields.items() if value}


def reference(resource: Resource, meta: Meta) -> ObjectReference:
    return ObjectReference(resource.kind, resource.api_version, meta.namespace, meta.name, meta.uid, meta.resource_version)


class EventSource(NamedTuple):
    component: str
    host: str = ""
    instance: str = ""


@dataclasses.dataclass(frozen=True)
class RecordedEvent:
    """One occurrence. An event with an action has the shape of events.k8s.io: eventTime in place of count and timestamps."""

    involved: ObjectReference
    source: EventSource
    type: str
    reason: str
    message: str
    time: dt.datetime
    action: str = ""
    related: ObjectReference | None = None
    key: str = ""
    """Distinguishes occurrences of the same content, for names that are derived from the event."""
    annotations: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return self.involved.namespace or "default"


@dataclasses.dataclass(frozen=True)
class Series:
    """Occurrences that one Event object counts."""

    message: str
    first: dt.datetime
    count: int = 1


def build(event: RecordedEvent, name: str, series: Series) -> dict[str, Any]:
    """The Event object."""
    component, host, instance = event.source
    metadata: dict[str, Any] = {"name": name, "namespace": event.namespace}
    body = {
        "apiVersion": "v1", "kind": "Event",
        "metadata": metadata | ({"annotations": dict(event.annotations)} if event.annotations else {}),
        "involvedObject": event.involved.to_json(),
        "type": event.type, "reason": event.reason, "message": truncated(series.message),
        "reportingComponent": component, "reportingInstance": instance,
    }  # fmt: skip
    if event.action:
        related = {"related": event.related.to_json()} if event.related is not None else {}
        return body | {"action": event.action, "eventTime": times.rfc3339_micro(event.time)} | related
    source = {"component": component} | ({"host": host} if host else {})
    timestamps = {"firstTimestamp": times.rfc3339(series.first), "lastTimestamp": times.rfc3339(event.time)}
    return body | {"source": source, "count": series.count} | timestamps
