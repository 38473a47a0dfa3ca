"""Deleting a job, and waiting until it and its pods are gone."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

from traincrew import errors
from traincrew.cli.jobs import query
from traincrew.cli.render import view
from traincrew.client import port
from traincrew.kinds.kind import JobKind
from traincrew.model.resources import Resource

SHORTEST, LONGEST = 0.02, 0.2
"""Seconds between looks: most are gone at once, and others take as long as they were given."""


class Gone(NamedTuple):
    kind: JobKind
    namespace: str
    name: str
    uid: str
    finished: bool = False

    @property
    def reference(self) -> str:
        return f"{self.kind.singular}/{self.name}"


def gone(kind: JobKind, raw: bytes) -> Gone:
    job = view.view(kind, raw).job
    return Gone(kind, job.namespace, job.name, job.metadata.uid, job.status.finished)


async def delete(client: port.Client, job: Gone) -> None:
    """In the background: whoever wants to see the pods go waits for that. A job that is gone already is fine."""
    with contextlib.suppress(errors.NotFound, errors.Conflict):
        await client.delete(job.kind.resource, job.namespace, job.name, uid=job.uid, propagation="Background")


async def until_gone(client: port.Client, job: Gone) -> None:
    """Looked at again and again rather than watched: it is short, and a look also survives a restart of the API server."""
    pause = SHORTEST
    while await _is_there(client, job.kind.resource, job) or await _pods(client, job):
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST)


async def _is_there(client: port.Client, resource: Resource, job: Gone) -> bool:
    try:
        raw = await client.get(resource, job.namespace, job.name)
    except errors.NotFound:
        return False
    return view.view(job.kind, raw).job.metadata.uid == job.uid


async def _pods(client: port.Client, job: Gone) -> bool:
    try:
        found = await query.pods(client, job.namespace, view.selector(job.name))
    except errors.NotFound:
        return False
    return any(view.belongs(pod, job.kind, job.name) for pod in found)
