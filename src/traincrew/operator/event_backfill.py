"""Backfill of missing events: a previous operator ended after a write and before it recorded the event.

Events about conditions have names derived from their content, so that recording them again is harmless. Events about
objects carry the UIDs of these objects in an annotation.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import logging
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, meta, naming, resources
from traincrew.model.resources import Resource
from traincrew.operator import job_events
from traincrew.operator.job_events import JobEventRecorder
from traincrew.planner import pods_and_services
from traincrew.planner.actions import JobEvent

log = logging.getLogger(__name__)

RECENT = dt.timedelta(minutes=10)
"""How far back events are expected. API servers drop events after an hour; an older event must not be recorded again."""
GRACE = 3.0
"""Seconds within which another running operator has recorded the creation of an object."""


class _WrittenEvent(meta.Struct):
    metadata: meta.Meta


@dataclasses.dataclass
class ExpectedEvents:
    """The events that must exist about one job."""

    kind: JobKind
    job: jobs.JobObject[Any]
    events: tuple[JobEvent, ...] = ()
    created: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)
    """Names by UID: several objects may have had the same name one after the other."""

    def add_created(self, resource: Resource, obj: meta.Named) -> None:
        self.created.setdefault(resource, {})[obj.metadata.uid] = obj.metadata.name


class EventBackfill:
    def __init__(
        self, reader: interfaces.Reader, recorder: JobEventRecorder, namespaces: tuple[str, ...], now: Callable[[], dt.datetime]
    ) -> None:
        self._reader = reader
        self._recorder = recorder
        self._may_list_all = not namespaces
        self._now = now
        self._expected: dict[str, ExpectedEvents] = {}
        self._pending = asyncio.Event()

    def expect(self, expected: ExpectedEvents) -> None:
        """Events that this operator has not recorded."""
        known = self._expected.setdefault(expected.job.metadata.uid, expected)
        if known is not expected:
            known.events += expected.events
            for resource, names in expected.created.items():
                known.created.setdefault(resource, {}).update(names)
        self._pending.set()

    def object_added(self, kind: JobKind, job: jobs.JobObject[Any], resource: Resource, obj: meta.Named) -> None:
        """An object that this operator has not created."""
        if resource in announced(kind) and is_recent(obj, self._now()):
            expected = ExpectedEvents(kind, job)
            expected.add_created(resource, obj)
            self.expect(expected)

    async def run(self) -> None:
        while True:
            await self._pending.wait()
            self._pending.clear()
            await asyncio.sleep(GRACE)
            expected = list(self._expected.values())
            self._expected.clear()
            await self._record_missing(expected)

    async def _record_missing(self, expected: list[ExpectedEvents]) -> None:
        """If the written events cannot be listed none is recorded: a missing event is better than a duplicate."""
        names: set[str] = set()
        uids: set[str] = set()
        try:
            for namespace, component in sorted(self._sources(expected)):
                fields = f"reportingComponent={component}"
                async for page in self._reader.pages(resources.EVENTS, namespace or None, fields=fields):
                    for raw in page.items:
                        written = msgspec.json.decode(raw, type=_WrittenEvent).metadata
                        names.add(written.name)
                        uids.update(written.annotations.get(naming.REPORTED_OBJECTS, "").split(","))
        except errors.ApiError as error:
            log.warning("event backfill failed", extra={"error": error.message})
            return
        for each in expected:
            self._record(each, names, uids)

    def _sources(self, expected: Iterable[ExpectedEvents]) -> set[tuple[str, str]]:
        """Namespaces and components whose events to list. One list of all namespaces takes the place of several."""
        sources = {(each.job.metadata.namespace, each.kind.controller) for each in expected}
        if self._may_list_all and len({namespace for namespace, _ in sources}) > 1:
            return {("", component) for _, component in sources}
        return sources

    def _record(self, expected: ExpectedEvents, names: set[str], uids: set[str]) -> None:
        kind, job = expected.kind, expected.job
        for resource, created in expected.created.items():
            missing = {uid: name for uid, name in created.items() if uid[: job_events.UID_DIGITS] not in uids}
            for generation in _generations(missing):
                self._recorder.event(kind, job, *job_events.created(resource, generation))
        for event in expected.events:
            if job_events.name(job_events.build(kind, job, event, self._now())) not in names:
                self._recorder.event(kind, job, event)


def _generations(missing: dict[str, str]) -> list[dict[str, str]]:
    """Names and UIDs, divided so that no name occurs twice in one of them."""
    generations: list[dict[str, str]] = []
    for uid, name in missing.items():
        generation = next((each for each in generations if name not in each), None)
        if generation is None:
            generations.append(generation := {})
        generation[name] = uid
    return generations


def announced(kind: JobKind) -> tuple[Resource, ...]:
    """Resources whose creation is an event; a Service that is not a replica's own is not announced."""
    return pods_and_services.WITH_EVENTS if kind.pods.services else (resources.PODS,)


def is_recent(obj: meta.Named, now: dt.datetime) -> bool:
    created = obj.metadata.creation_timestamp
    return created is not None and created >= now - RECENT
