"""Events about objects that were made or removed: one for all of a resource in one pass."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from traincrew.model.resources import Resource
from traincrew.planner.actions import JobEvent


def made(resource: Resource, names: Mapping[str, str]) -> tuple[JobEvent, tuple[str, ...]]:
    """The event, and the UIDs that it speaks of."""
    return _event("Create", resource, names), tuple(sorted(names.values()))


def removed(resource: Resource, names: Mapping[str, str]) -> JobEvent:
    return _event("Delete", resource, names)


def _event(verb: str, resource: Resource, names: Mapping[str, str]) -> JobEvent:
    message = f"{verb}d {resource.kind.lower()}: {', '.join(sorted(names))}"
    key = hashlib.sha256("".join(sorted(names.values())).encode()).hexdigest()
    return JobEvent("Normal", f"Successful{verb}{resource.kind}", message, key)
