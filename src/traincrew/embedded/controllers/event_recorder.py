"""The event recorder of a controller: repetitions are counted on one Event object."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock, event_recorder, events, interfaces
from traincrew.client.event_correlation import Correlator
from traincrew.model.resources import Resource

NORMAL, WARNING = events.NORMAL, events.WARNING


class ControllerEventRecorder:
    def __init__(self, writer: interfaces.Writer, component: str) -> None:
        self._source = events.EventSource(component)
        self._recorder = event_recorder.EventRecorder(writer, event_recorder.UniqueNames(), Correlator())

    def event(self, resource: Resource, obj: Object, type: str, reason: str, message: str) -> None:
        meta, now = obj["metadata"], clock.now()
        involved = events.ObjectReference(
            resource.kind, resource.api_version, meta.get("namespace", ""), meta["name"], meta["uid"],
            meta.get("resourceVersion", ""),
        )  # fmt: skip
        self._recorder.record(events.RecordedEvent(involved, self._source, type, reason, message, now))

    async def run(self) -> None:
        await self._recorder.run()
