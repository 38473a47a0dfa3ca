"""Events on jobs: best effort, never doubled, behind everything else in the queue."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import logging
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, resources
from traincrew.planner.actions import Event

logger = logging.getLogger(__name__)

POSTERS = 4
"""Few of the client's slots, so that events never hold up pods."""
BACKLOG = 20_000
MESSAGE_LIMIT = 1024


class Teller:
    def __init__(self, writer: port.Writer) -> None:
        self._writer = writer
        self._queue: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue(BACKLOG)

    def tell(self, kind: JobKind, job: jobs.Stored[Any], event: Event) -> None:
        """The name is made of the content: an event told again, by us or by another operator, is the same object."""
        meta = job.metadata
        content = "\0".join((meta.uid, event.type, event.reason, event.message, event.key))
        name = f"{meta.name}.{hashlib.sha256(content.encode()).hexdigest()[:16]}"
        now = dt.datetime.now(dt.UTC).replace(microsecond=0)
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": meta.namespace},
            "involvedObject": {
                "apiVersion": f"{jobs.GROUP}/{kind.version}",
                "kind": kind.kind,
                "namespace": meta.namespace,
                "name": meta.name,
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
            },
            "type": event.type,
            "reason": event.reason,
            "message": event.message[:MESSAGE_LIMIT],
            "source": {"component": kind.controller},
            "reportingComponent": kind.controller,
            "reportingInstance": "",
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
        }
        try:
            self._queue.put_nowait((meta.namespace, body))
        except asyncio.QueueFull:
            logger.warning("event dropped", extra={"job": f"{meta.namespace}/{meta.name}", "reason": event.reason})

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(POSTERS):
                group.create_task(self._post())

    async def drain(self, seconds: float) -> None:
        """Posts what is left, for at most that long."""
        try:
            async with asyncio.timeout(seconds):
                await self._queue.join()
        except TimeoutError:
            logger.warning("events left unsent", extra={"count": self._queue.qsize()})

    async def _post(self) -> None:
        while True:
            namespace, body = await self._queue.get()
            try:
                await self._writer.create(resources.EVENTS, namespace, msgspec.json.encode(body))
            except errors.AlreadyExists:
                pass  # told before
            except errors.ApiError as error:
                fields = {"reason": body["reason"], "error": error.message}
                logger.warning("event not written", extra=fields)
            finally:
                self._queue.task_done()
