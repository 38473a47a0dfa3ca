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
from traincrew.planner.actions import Create


class Finding(enum.Enum):
    OURS = "ours"
    LEAVING = "leaving"
    FOREIGN = "foreign"


class _Any(Struct):
    metadata: Meta


def judge(kind: JobKind, job: jobs.JobObject[Any], action: Create, found: Meta) -> Finding:
    owner = found.controller
    if found.deletion_timestamp is not None:
        return Finding.LEAVING
    if owner is not None and owner.uid == job.metadata.uid:
        return Finding.OURS
    if owner is not None and (owner.kind, owner.name) == (kind.kind, job.metadata.name):
        return Finding.LEAVING  # an earlier job of this name had it; the garbage collector is on its way
    return Finding.OURS if action.shared else Finding.FOREIGN


async def inspect(client: port.Client, kind: JobKind, job: jobs.JobObject[Any], action: Create) -> tuple[Finding, bytes]:
    """Looks at the object that holds a wanted name; one of ours without our labels gets them."""
    namespace = job.metadata.namespace
    try:
        raw = await client.get(action.resource, namespace, action.name)
        found = msgspec.json.decode(raw, type=_Any).metadata
        finding = judge(kind, job, action, found)
        if finding is Finding.OURS and not action.shared:
            labels = _missing_labels(action, found)
            if labels:
                # A Go operator's objects may lack the labels by which our watches see them.
                body = msgspec.json.encode({"metadata": {"uid": found.uid, "labels": labels}})
                raw = await client.patch(action.resource, namespace, action.name, body)
    except errors.NotFound:
        return Finding.LEAVING, b""
    return finding, raw


def _missing_labels(action: Create, found: Meta) -> dict[str, str]:
    wanted: dict[str, str] = action.body["metadata"].get("labels") or {}
    return {key: value for key, value in wanted.items() if found.labels.get(key) != value}
