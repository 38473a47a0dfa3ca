"""Events as kube-scheduler writes them: best effort, behind everything else."""

from __future__ import annotations

import asyncio
import logging
import time

import msgspec

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.client import clock, port
from traincrew.model import resources
from traincrew.model.meta import Meta
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)

BACKLOG = 10_000
LIMIT = 1024
POSTERS = 2


class Recorder:
    def __init__(self, writer: port.Writer, instance: str) -> None:
        self._writer, self._instance = writer, instance
        self._queue: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue(BACKLOG)
        self._last = 0

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(POSTERS):
                tasks.create_task(self._post())

    def tell(self, about: Reference, by: str, told: Told, related: Reference | None = None) -> None:
        """by: the name of the scheduler that the pod asks for."""
        body = {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": f"{about.meta.name}.{self._moment():x}", "namespace": about.meta.namespace},
            "involvedObject": about.written(),
            "type": told.type,
            "reason": told.reason,
            "message": told.message if len(told.message) <= LIMIT else f"{told.message[: LIMIT - 4]} ...",
            "action": told.action,
            "eventTime": times.rfc3339_micro(clock.now()),
            "reportingComponent": by,
            "reportingInstance": f"{by}-{self._instance}"[:128],
            **({"related": related.written()} if related else {}),
        }
        try:
            self._queue.put_nowait((about.meta.namespace, msgspec.json.encode(body)))
        except asyncio.QueueFull:
            log.warning("event dropped", extra={"object": about.meta.name, "reason": told.reason})

    def _moment(self) -> int:
        """Different for every event: names are made of it."""
        self._last = max(self._last + 1, time.time_ns())
        return self._last

    async def _post(self) -> None:
        while True:
            namespace, body = await self._queue.get()
            try:
                await self._writer.create(resources.EVENTS, namespace, body)
            except errors.ApiError as error:
                # Of a namespace that is on its way out nobody wants to hear any more.
                log.debug("event not written", extra={"error": error.message})


class Told(msgspec.Struct, frozen=True):
    type: str
    reason: str
    action: str
    message: str


class Reference(msgspec.Struct, frozen=True):
    resource: Resource
    meta: Meta

    def written(self) -> dict[str, str]:
        return {
            "kind": self.resource.kind,
            "apiVersion": self.resource.api_version,
            "namespace": self.meta.namespace,
            "name": self.meta.name,
            "uid": self.meta.uid,
            "resourceVersion": self.meta.resource_version,
        }
