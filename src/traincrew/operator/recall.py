"""What an operator that ended too early may have left untold: found out once, by whoever acts next."""

from __future__ import annotations

import dataclasses
import datetime as dt
import logging
from collections.abc import Iterator
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, meta, naming, resources
from traincrew.model.resources import Resource
from traincrew.operator import announcing, telling
from traincrew.operator.observe import World
from traincrew.operator.telling import Teller
from traincrew.planner import desired
from traincrew.planner import telling as implied
from traincrew.planner.actions import Event

logger = logging.getLogger(__name__)

RECENT = dt.timedelta(minutes=10)
"""How far back to look. API servers forget events after an hour; what is older than that must not be told again."""


class _Told(meta.Struct):
    metadata: meta.Meta


@dataclasses.dataclass(frozen=True)
class Doubt:
    """What must have been told about one job, if all went well."""

    kind: JobKind
    job: jobs.Stored[Any]
    events: tuple[Event, ...]
    made: dict[Resource, dict[str, str]]


def doubts(world: World, now: dt.datetime, gang_scheduler: str) -> list[Doubt]:
    """All that is recent, as it stands at this moment."""
    return list(_doubts(world, now - RECENT, gang_scheduler))


def _doubts(world: World, since: dt.datetime, gang_scheduler: str) -> Iterator[Doubt]:
    for plural, store in world.jobs.items():
        for job in store:
            kind = world.kinds[plural].following(job)
            events = tuple(implied.implied(kind, job, since, gang_scheduler))
            made = _made(world, job.metadata.uid, since)
            if events or made:
                yield Doubt(kind, job, events, made)


def _made(world: World, uid: str, since: dt.datetime) -> dict[Resource, dict[str, str]]:
    found: dict[Resource, dict[str, str]] = {}
    for resource in desired.ANNOUNCED:
        for entry in world.objects[resource].owned_by(uid) if resource in world.objects else ():
            made = entry.metadata.creation_timestamp
            if made is not None and made >= since:
                found.setdefault(resource, {})[entry.metadata.name] = entry.metadata.uid
    return found


async def settle(client: port.Reader, namespace: str, teller: Teller, open_doubts: list[Doubt]) -> None:
    """Tells what nobody has told. If that cannot be found out, nothing is: better untold than told twice."""
    names: set[str] = set()
    uids: set[str] = set()
    try:
        for component in sorted({doubt.kind.controller for doubt in open_doubts}):
            async for page in client.pages(resources.EVENTS, namespace or None, fields=f"reportingComponent={component}"):
                for raw in page.items:
                    told = msgspec.json.decode(raw, type=_Told).metadata
                    names.add(told.name)
                    uids.update(told.annotations.get(naming.TOLD_OBJECTS, "").split(","))
    except errors.ApiError as error:
        logger.warning("events not recalled", extra={"error": error.message})
        return
    for doubt in open_doubts:
        _settle(teller, doubt, names, uids)


def _settle(teller: Teller, doubt: Doubt, names: set[str], uids: set[str]) -> None:
    for resource, made in doubt.made.items():
        untold = {name: uid for name, uid in made.items() if uid[: telling.UID_DIGITS] not in uids}
        if untold:
            teller.tell(doubt.kind, doubt.job, *announcing.announcement("Create", resource, untold))
    for event in doubt.events:
        if telling.name(doubt.job, event) not in names:
            teller.tell(doubt.kind, doubt.job, event)
