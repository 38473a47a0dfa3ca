"""What to make of an object that is there already: ours, on its way out, or somebody else's."""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.model.meta import Meta, Struct
from traincrew.operator.observe import World
from traincrew.planner.actions import Create


class Finding(enum.Enum):
    OURS = "ours"
    SHARED = "shared"
    """Somebody else's, and meant to be used by anybody."""
    LEAVING = "leaving"
    FOREIGN = "foreign"


class _Any(Struct):
    metadata: Meta


class Inspector:
    def __init__(self, client: port.Client, world: World) -> None:
        self._client = client
        self._world = world

    async def inspect(self, kind: JobKind, job: jobs.Stored[Any], action: Create) -> tuple[Finding, bytes]:
        """Looks at the object that holds a wanted name; one of ours without our labels gets them."""
        meta = job.metadata
        try:
            raw = await self._client.get(action.resource, meta.namespace, action.name)
        except errors.NotFound:
            return Finding.LEAVING, b""
        found = msgspec.json.decode(raw, type=_Any).metadata
        owner = found.controller
        if found.deletion_timestamp is not None:
            return Finding.LEAVING, raw
        if owner is not None and owner.uid == meta.uid:
            return Finding.OURS, await self._labelled(job, action, found, raw)
        if owner is not None and (owner.kind, owner.name) == (kind.kind, meta.name):
            return Finding.LEAVING, raw  # an earlier job of this name had it; the garbage collector is on its way
        return Finding.SHARED if action.shared else Finding.FOREIGN, raw

    async def _labelled(self, job: jobs.Stored[Any], action: Create, found: Meta, raw: bytes) -> bytes:
        """A Go operator's objects may lack the labels by which our watches see them."""
        if action.resource not in self._world.objects:
            return raw  # nothing watches it
        wanted: dict[str, str] = action.body["metadata"].get("labels") or {}
        missing = {key: value for key, value in wanted.items() if found.labels.get(key) != value}
        if not missing:
            return raw
        body = msgspec.json.encode({"metadata": {"labels": missing}})
        return await self._client.patch(action.resource, job.metadata.namespace, action.name, body)
