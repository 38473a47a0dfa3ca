"""What may have been left untold: by an operator that ended too early, or that made an object without living to see it.

Found out by whoever acts next. Events about conditions have names made of their content, so that telling them again does no
harm; those about objects name the UIDs that they speak of.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import logging
from collections.abc import Iterable
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import clock, port
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, meta, naming, resources
from traincrew.model.resources import Resource
from traincrew.operator import event_recorder, object_events
from traincrew.operator.event_recorder import Teller
from traincrew.planner import desired
from traincrew.planner.actions import JobEvent

logger = logging.getLogger(__name__)

RECENT = dt.timedelta(minutes=10)
"""How far back to look. API servers forget events after an hour; what is older than that must not be told again."""
GRACE = 3.0
"""Seconds within which another operator that made an object has told so, if it lives."""


class _Told(meta.Struct):
    metadata: meta.Meta


@dataclasses.dataclass
class Doubt:
    """What must have been told about one job, if all went well."""

    kind: JobKind
    job: jobs.JobObject[Any]
    events: tuple[JobEvent, ...] = ()
    made: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)
    """Names by UID: several objects may have had a name one after the other."""

    def add(self, resource: Resource, entry: meta.Named) -> None:
        self.made.setdefault(resource, {})[entry.metadata.uid] = entry.metadata.name


class Recall:
    def __init__(self, reader: port.Reader, teller: Teller, namespace: str) -> None:
        self._reader = reader
        self._teller = teller
        self._namespace = namespace or None
        self._doubts: dict[str, Doubt] = {}
        self._any = asyncio.Event()

    def doubt(self, found: Doubt) -> None:
        """Things that this operator has not told itself."""
        known = self._doubts.setdefault(found.job.metadata.uid, found)
        if known is not found:
            known.events += found.events
            for resource, names in found.made.items():
                known.made.setdefault(resource, {}).update(names)
        self._any.set()

    def came_up(self, kind: JobKind, job: jobs.JobObject[Any], resource: Resource, entry: meta.Named) -> None:
        """An object that this operator has not made itself."""
        if resource in announced(kind) and recent(entry, clock.now()):
            found = Doubt(kind, job)
            found.add(resource, entry)
            self.doubt(found)

    async def run(self) -> None:
        while True:
            await self._any.wait()
            self._any.clear()
            await asyncio.sleep(GRACE)
            found = list(self._doubts.values())
            self._doubts.clear()
            await self._settle(found)

    async def _settle(self, found: list[Doubt]) -> None:
        """If what was told cannot be found out, nothing is told: better untold than told twice."""
        names: set[str] = set()
        uids: set[str] = set()
        try:
            for namespace, component in sorted(self._sources(found)):
                fields = f"reportingComponent={component}"
                async for page in self._reader.pages(resources.EVENTS, namespace or None, fields=fields):
                    for raw in page.items:
                        told = msgspec.json.decode(raw, type=_Told).metadata
                        names.add(told.name)
                        uids.update(told.annotations.get(naming.TOLD_OBJECTS, "").split(","))
        except errors.ApiError as error:
            logger.warning("events not recalled", extra={"error": error.message})
            return
        for doubt in found:
            self._tell(doubt, names, uids)

    def _sources(self, found: Iterable[Doubt]) -> set[tuple[str, str]]:
        """Namespaces and components whose events to read: a single namespace if that is enough."""
        places = {doubt.job.metadata.namespace for doubt in found}
        place = next(iter(places)) if len(places) == 1 else self._namespace or ""
        return {(place, doubt.kind.controller) for doubt in found}

    def _tell(self, doubt: Doubt, names: set[str], uids: set[str]) -> None:
        for resource, made in doubt.made.items():
            untold = {uid: name for uid, name in made.items() if uid[: event_recorder.UID_DIGITS] not in uids}
            for generation in _generations(untold):
                self._teller.tell(doubt.kind, doubt.job, *object_events.made(resource, generation))
        for event in doubt.events:
            if event_recorder.name(doubt.job, event) not in names:
                self._teller.tell(doubt.kind, doubt.job, event)


def _generations(untold: dict[str, str]) -> list[dict[str, str]]:
    """Names and UIDs, so that no name comes twice in one of them."""
    found: list[dict[str, str]] = []
    for uid, name in untold.items():
        place = next((each for each in found if name not in each), None)
        if place is None:
            found.append(place := {})
        place[name] = uid
    return found


def announced(kind: JobKind) -> tuple[Resource, ...]:
    """Resources whose objects are told of; a Service that is not a replica's own is not."""
    return desired.WITH_EVENTS if kind.pods.services else (resources.PODS,)


def recent(entry: meta.Named, now: dt.datetime) -> bool:
    made = entry.metadata.creation_timestamp
    return made is not None and made >= now - RECENT
