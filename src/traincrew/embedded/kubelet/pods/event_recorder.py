"""Events about pods, written once: their names come from what they are about, so a daemon that died in between repeats none."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import logging
from typing import Any, NamedTuple

import msgspec

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.client import port
from traincrew.embedded.kubelet.lifecycle.steps import PodEvent
from traincrew.model.resources import EVENTS

log = logging.getLogger(__name__)

BACKLOG = 5000
MESSAGE_LIMIT = 1024
COMPONENT = "kubelet"


class _About(NamedTuple):
    pod: dict[str, Any]
    event: PodEvent
    at: dt.datetime


class PodEventRecorder:
    """Nobody waits for an event to be written; under a flood the newest are dropped."""

    def __init__(self, writer: port.Writer, node: str) -> None:
        self._writer, self._node = writer, node
        self._queue: asyncio.Queue[_About] = asyncio.Queue(BACKLOG)

    def tell(self, pod: dict[str, Any], event: PodEvent, at: dt.datetime) -> None:
        try:
            self._queue.put_nowait(_About(pod, event, at))
        except asyncio.QueueFull:
            log.warning("event dropped", extra={"pod": pod["metadata"]["name"], "reason": event.reason})

    async def run(self) -> None:
        while True:
            about = await self._queue.get()
            try:
                await self._write(about)
            except errors.ApiError as error:
                log.debug("event not written", extra={"reason": about.event.reason, "error": str(error)})

    async def _write(self, about: _About) -> None:
        body = _body(about, self._node)
        namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
        try:
            await self._writer.create(EVENTS, namespace, msgspec.json.encode(body))
        except errors.AlreadyExists:
            log.debug("event was written before", extra={"event": f"{namespace}/{name}"})


def _body(about: _About, node: str) -> dict[str, Any]:
    meta, event = about.pod["metadata"], about.event
    digest = hashlib.sha256(f"{meta['uid']}/{event.key}".encode()).hexdigest()[:16]
    at = times.rfc3339(about.at)
    involved = {
        "kind": "Pod", "apiVersion": "v1", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"],
        "resourceVersion": meta.get("resourceVersion", ""), "fieldPath": event.field_path,
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": f"{meta['name'][:200]}.{digest}", "namespace": meta["namespace"]},
        "involvedObject": {key: value for key, value in involved.items() if value},
        "type": event.type, "reason": event.reason, "message": event.message[:MESSAGE_LIMIT], "count": 1,
        "firstTimestamp": at, "lastTimestamp": at, "source": {"component": COMPONENT, "host": node},
        "reportingComponent": COMPONENT, "reportingInstance": node,
    }  # fmt: skip
