"""Events that a controller writes about objects."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time

import msgspec

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.apimachinery.resource_info import Object
from traincrew.client import clock, port
from traincrew.embedded.controllers import event_correlation
from traincrew.embedded.controllers.event_correlation import Event, Told
from traincrew.model.resources import EVENTS, Resource

log = logging.getLogger(__name__)

BACKLOG = 5000
NORMAL, WARNING = "Normal", "Warning"
MESSAGE_LIMIT = 1024


class Recorder:
    """Nobody waits for an event to be written; under a flood the newest are dropped."""

    def __init__(self, writer: port.Writer, component: str) -> None:
        self._writer, self._component = writer, component
        self._correlator = event_correlation.Correlator()
        self._queue: asyncio.Queue[Event] = asyncio.Queue(BACKLOG)

    def tell(self, resource: Resource, about: Object, type: str, reason: str, message: str) -> None:
        meta = about["metadata"]
        event = Event(
            self._component, resource.api_version, resource.kind, meta.get("namespace", ""), meta["name"], meta["uid"],
            meta.get("resourceVersion", ""), type, reason, message[:MESSAGE_LIMIT],
        )  # fmt: skip
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            log.warning("event dropped", extra={"object": f"{event.namespace}/{event.name}", "reason": reason})

    async def run(self) -> None:
        while True:
            event = await self._queue.get()
            told = self._correlator.take(event, time.time())
            if told is None:
                continue
            try:
                await self._write(event, told)
            except errors.ApiError as error:
                extra = {"object": f"{event.namespace}/{event.name}", "reason": event.reason, "error": str(error)}
                log.debug("event not written", extra=extra)

    async def _write(self, event: Event, told: Told) -> None:
        namespace = event.namespace or "default"
        if told.name:
            again = {"count": told.count, "lastTimestamp": clock.timestamp(), "message": told.message}
            try:
                await self._writer.patch(EVENTS, namespace, told.name, msgspec.json.encode(again))
                return
            except errors.NotFound:
                pass  # it has lived its hour
        told.name = f"{event.name}.{time.time_ns():x}"
        await self._writer.create(EVENTS, namespace, msgspec.json.encode(_body(event, told, namespace)))


def _body(event: Event, told: Told, namespace: str) -> Object:
    now = clock.timestamp()
    first = times.rfc3339(dt.datetime.fromtimestamp(told.first, dt.UTC))
    about = {
        "kind": event.kind, "namespace": event.namespace, "name": event.name, "uid": event.uid,
        "apiVersion": event.api_version, "resourceVersion": event.resource_version,
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": told.name, "namespace": namespace},
        "involvedObject": {key: value for key, value in about.items() if value},
        "type": event.type, "reason": event.reason, "message": told.message, "count": told.count,
        "firstTimestamp": first, "lastTimestamp": now, "source": {"component": event.component},
        "reportingComponent": event.component, "reportingInstance": "",
    }  # fmt: skip
