"""Events about jobs: their names are derived from their content, so that no event is written twice."""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from traincrew.client import event_recorder, events
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, naming
from traincrew.model.resources import Resource
from traincrew.planner.actions import JobEvent

log = logging.getLogger(__name__)

DELIVERY = event_recorder.Delivery(backlog=20_000, workers=4, retry_seconds=600.0, defer_seconds=5.0)
"""Events yield to the objects of jobs and use few connections. An event survives ten minutes without an API server."""
UID_DIGITS = 8
"""Characters of a UID: enough to distinguish the objects of one job, and an event about thousands of pods stays small."""


class JobEventRecorder:
    def __init__(self, recorder: event_recorder.EventRecorder, now: Callable[[], dt.datetime]) -> None:
        self._recorder, self._now = recorder, now

    def event(self, kind: JobKind, job: jobs.JobObject[Any], event: JobEvent, uids: tuple[str, ...] = ()) -> None:
        recorded = build(kind, job, event, self._now(), uids)
        self._recorder.record(recorded)
        level = logging.INFO if event.type == "Warning" else logging.DEBUG
        if log.isEnabledFor(level):
            names = {"kind": kind.kind, "job": f"{job.metadata.namespace}/{job.metadata.name}", "event": name(recorded)}
            log.log(level, "event recorded", extra={**names, "reason": event.reason, "text": event.message})


def build(
    kind: JobKind, job: jobs.JobObject[Any], event: JobEvent, now: dt.datetime, uids: tuple[str, ...] = ()
) -> events.RecordedEvent:
    """uids: of the objects that the event names. The backfill reads them to find missing events."""
    meta = job.metadata
    involved = events.ObjectReference(
        kind.kind, f"{jobs.GROUP}/{kind.version}", meta.namespace, meta.name, meta.uid, meta.resource_version
    )
    annotations = {naming.REPORTED_OBJECTS: ",".join(uid[:UID_DIGITS] for uid in uids)} if uids else {}
    source = events.EventSource(kind.controller)
    return events.RecordedEvent(
        involved, source, event.type, event.reason, event.message, now, key=event.key, annotations=annotations
    )


def name(event: events.RecordedEvent) -> str:
    """The same event, recorded again by this or another operator, is the same object."""
    content = "\0".join((event.involved.uid, event.type, event.reason, event.message, event.key))
    return f"{event.involved.name}.{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def created(resource: Resource, names: Mapping[str, str]) -> tuple[JobEvent, tuple[str, ...]]:
    """One event for all objects of a resource that one plan created, given as name and UID; and the UIDs."""
    return _event("Create", resource, names), tuple(sorted(names.values()))


def deleted(resource: Resource, names: Mapping[str, str]) -> JobEvent:
    return _event("Delete", resource, names)


def _event(verb: str, resource: Resource, names: Mapping[str, str]) -> JobEvent:
    message = _listed(f"{verb}d {resource.kind.lower()}: ", sorted(names))
    key = hashlib.sha256("".join(sorted(names.values())).encode()).hexdigest()
    return JobEvent("Normal", f"Successful{verb}{resource.kind}", message, key)


def _listed(title: str, names: Sequence[str]) -> str:
    """As many whole names as an event can have, and the number of the others."""
    text, kept = title + ", ".join(names), len(names)
    while len(text) > events.MESSAGE_LIMIT and kept > 1:
        kept -= max((len(text) - events.MESSAGE_LIMIT) // (len(names[kept - 1]) + 2), 1)
        kept = max(kept, 1)
        text = f"{title}{', '.join(names[:kept])} and {len(names) - kept} more"
    return text
