"""Objects in the stores of which parts cannot be read: noted when they are decoded, reported on their job once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traincrew.model import jobs, meta
from traincrew.model.lenient_decoding import Unreadable
from traincrew.model.observed import Observed, UnreadableObject
from traincrew.model.resources import Resource
from traincrew.planner.actions import JobEvent

Decode = Callable[[bytes], tuple[Any, tuple[Unreadable, ...]]]

NAMED_PARTS = 3
"""Parts of an object that a report names. A hostile object may have thousands."""


class UnreadableObjects:
    def __init__(self) -> None:
        self._by_uid: dict[str, UnreadableObject] = {}

    def __bool__(self) -> bool:
        return bool(self._by_uid)

    def noting(self, resource: Resource, decode: Decode) -> Callable[[bytes], Any]:
        """The decoder of a store that notes what cannot be read."""

        def read(raw: bytes) -> Any:
            obj, parts = decode(raw)
            if parts:
                self._by_uid[obj.metadata.uid] = UnreadableObject(resource.kind, obj.metadata.name, parts)
            elif self._by_uid:
                self.forget(obj.metadata.uid)
            return obj

        return read

    def forget(self, uid: str) -> None:
        self._by_uid.pop(uid, None)

    def among(self, job: jobs.JobObject[Any], observed: Observed) -> tuple[UnreadableObject, ...]:
        """Those of this job: the job itself, and the objects that belong to it."""
        owned: tuple[meta.Named, ...] = (
            *observed.pods,
            *observed.config_maps,
            *observed.roles,
            *observed.batch_jobs,
            *observed.autoscalers,
            *observed.pod_groups,
        )
        found = (self._by_uid.get(each.metadata.uid) for each in (job, *owned))
        return tuple(each for each in found if each is not None)


def event(found: UnreadableObject) -> JobEvent:
    text = "; ".join(f"{part.path}: {part.reason}" for part in found.parts[:NAMED_PARTS])
    more = len(found.parts) - NAMED_PARTS
    tail = f"; and {more} more" if more > 0 else ""
    message = f"{found.kind} {found.name} has fields that cannot be read and are ignored: {text}{tail}"
    return JobEvent("Warning", "UnreadableFields", message)
