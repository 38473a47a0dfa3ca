"""Events on jobs: best effort, never doubled, behind everything else in the queue."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import clock, port, retries
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, naming, resources
from traincrew.planner.actions import JobEvent

logger = logging.getLogger(__name__)

POSTERS = 4
"""Few of the client's slots, so that events never hold up pods."""
BACKLOG = 20_000
MESSAGE_LIMIT = 1024
PATIENCE = 600.0
"""Seconds for which an event is tried again while the API server has trouble."""
COURTESY = 5.0
"""Seconds that an event waits while jobs are queued up."""
UID_DIGITS = 8
"""Of a UID; enough to tell the objects of one job apart, and an event about thousands of pods stays small."""


def name(job: jobs.JobObject[Any], event: JobEvent) -> str:
    """Made of the content: an event told again, by us or by another operator, is the same object."""
    content = "\0".join((job.metadata.uid, event.type, event.reason, event.message, event.key))
    return f"{job.metadata.name}.{hashlib.sha256(content.encode()).hexdigest()[:16]}"


class Teller:
    def __init__(self, writer: port.Writer, busy: Callable[[], bool] = lambda: False) -> None:
        """busy: whether jobs are waiting to be worked on; their objects go before events."""
        self._writer = writer
        self._busy = busy
        self._queue: asyncio.Queue[tuple[float, str, dict[str, Any]]] = asyncio.Queue(BACKLOG)

    def tell(self, kind: JobKind, job: jobs.JobObject[Any], event: JobEvent, uids: tuple[str, ...] = ()) -> None:
        """uids: of the objects it speaks of; whoever looks for what was left untold finds them there."""
        meta = job.metadata
        now = clock.now().replace(microsecond=0)
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name(job, event), "namespace": meta.namespace, **_annotated(uids)},
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
            self._queue.put_nowait((asyncio.get_running_loop().time(), meta.namespace, body))
        except asyncio.QueueFull:
            logger.warning("event dropped", extra={"job": f"{meta.namespace}/{meta.name}", "reason": event.reason})

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(POSTERS):
                group.create_task(self._post_all())

    async def drain(self, seconds: float) -> None:
        """Posts what is left, for at most that long."""
        try:
            async with asyncio.timeout(seconds):
                await self._queue.join()
        except TimeoutError:
            logger.warning("events left unsent", extra={"count": self._queue.qsize()})

    async def _post_all(self) -> None:
        while True:
            told, namespace, body = await self._queue.get()
            try:
                await self._turn(told + COURTESY)
                await self._post(namespace, body)
            except errors.AlreadyExists:
                pass  # told before
            except errors.ApiError as error:
                logger.warning("event not written", extra={"reason": body["reason"], "error": error.message})
            finally:
                self._queue.task_done()

    async def _turn(self, latest: float) -> None:
        """Lets objects go first, for a while."""
        while self._busy() and asyncio.get_running_loop().time() < latest:  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0.1)

    async def _post(self, namespace: str, body: dict[str, Any]) -> None:
        clock = asyncio.get_running_loop().time
        latest, backoff = clock() + PATIENCE, retries.Backoff(0.5, 10.0)
        while True:
            try:
                await self._writer.create(resources.EVENTS, namespace, msgspec.json.encode(body))
                return
            except errors.TemporaryError as error:
                delay = backoff.next(error)
                if clock() + delay > latest:
                    raise
            await asyncio.sleep(delay)


def _annotated(uids: tuple[str, ...]) -> dict[str, Any]:
    if not uids:
        return {}
    return {"annotations": {naming.TOLD_OBJECTS: ",".join(uid[:UID_DIGITS] for uid in uids)}}
