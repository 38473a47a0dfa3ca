"""Whether an existing object under a planned name belongs to the job, is terminating, or is foreign."""

from __future__ import annotations

import asyncio
import enum
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.model.meta import Meta, Struct
from traincrew.operator.job_memory import JobMemory
from traincrew.planner.actions import Create

GARBAGE_COLLECTION = 10.0
"""Seconds within which the garbage collector deletes the objects of an earlier job of the same name."""


class Ownership(enum.Enum):
    OURS = "ours"
    TERMINATING = "terminating"
    FOREIGN = "foreign"


class _Any(Struct):
    metadata: Meta


def classify(kind: JobKind, job: jobs.JobObject[Any], action: Create, existing: Meta) -> Ownership:
    owner = existing.controller
    if existing.deletion_timestamp is not None:
        return Ownership.TERMINATING
    if owner is not None and owner.uid == job.metadata.uid:
        return Ownership.OURS
    if owner is not None and (owner.kind, owner.name) == (kind.kind, job.metadata.name):
        return Ownership.TERMINATING  # the owner is an earlier job of this name; the garbage collector will delete the object
    return Ownership.OURS if action.shared else Ownership.FOREIGN


async def inspect(client: interfaces.Client, kind: JobKind, job: jobs.JobObject[Any], action: Create) -> tuple[Ownership, bytes]:
    """Reads the object that has the planned name. One of the job's own without our labels gets them."""
    namespace = job.metadata.namespace
    try:
        raw = await client.get(action.resource, namespace, action.name)
        existing = msgspec.json.decode(raw, type=_Any).metadata
        ownership = classify(kind, job, action, existing)
        if existing.controller is not None and existing.controller.uid == job.metadata.uid and ownership is Ownership.OURS:
            labels = _missing_labels(action, existing)
            if labels:
                # Objects of a Go operator may lack the labels that our informers select.
                body = msgspec.json.encode({"metadata": {"uid": existing.uid, "labels": labels}})
                raw = await client.patch(action.resource, namespace, action.name, body)
    except errors.NotFound:
        return Ownership.TERMINATING, b""
    return ownership, raw


def infer(job: jobs.JobObject[Any], action: Create, error: errors.AlreadyExists, memory: JobMemory) -> Ownership:
    """The ownership of an object that the operator must not read: see `planner/name_conflicts.py`."""
    taken = action.reference in job.status.name_conflicts or memory.name_conflicts.get(action.reference, False)
    if not taken and (error.uncertain or not action.first_attempt):
        return Ownership.OURS
    known_for = memory.conflict(action.reference, asyncio.get_running_loop().time())
    return Ownership.TERMINATING if known_for < GARBAGE_COLLECTION else Ownership.FOREIGN


def _missing_labels(action: Create, existing: Meta) -> dict[str, str]:
    planned: dict[str, str] = action.body["metadata"].get("labels") or {}
    return {key: value for key, value in planned.items() if existing.labels.get(key) != value}
