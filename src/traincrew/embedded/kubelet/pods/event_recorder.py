"""The event recorder of the kubelet: names are derived from the event, so that a kubelet that restarts repeats none."""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import Any

from traincrew.client import event_recorder, events, interfaces
from traincrew.embedded.kubelet.lifecycle.steps import PodEvent

COMPONENT = "kubelet"


def name(event: events.RecordedEvent) -> str:
    digest = hashlib.sha256(f"{event.involved.uid}/{event.key}".encode()).hexdigest()[:16]
    return f"{event.involved.name[:200]}.{digest}"


class PodEventRecorder:
    def __init__(self, writer: interfaces.Writer, node: str) -> None:
        self._source = events.EventSource(COMPONENT, host=node, instance=node)
        self._recorder = event_recorder.EventRecorder(writer, name)

    def event(self, pod: dict[str, Any], event: PodEvent, at: dt.datetime) -> None:
        meta = pod["metadata"]
        involved = events.ObjectReference(
            "Pod", "v1", meta["namespace"], meta["name"], meta["uid"], meta.get("resourceVersion", ""), event.field_path
        )
        self._recorder.record(
            events.RecordedEvent(involved, self._source, event.type, event.reason, event.message, at, key=event.key)
        )

    async def run(self) -> None:
        await self._recorder.run()
