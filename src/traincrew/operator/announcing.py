"""Events about objects that were made or removed: one for all of a resource in one pass."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal

from traincrew.model.resources import Resource
from traincrew.planner.actions import Event

Verb = Literal["Create", "Delete"]


def announcement(verb: Verb, resource: Resource, names: Mapping[str, str]) -> tuple[Event, tuple[str, ...]]:
    """The event, and the UIDs that it speaks of."""
    message = f"{verb}d {resource.kind.lower()}: {', '.join(sorted(names))}"
    uids = tuple(sorted(names.values()))
    key = hashlib.sha256("".join(uids).encode()).hexdigest()
    return Event("Normal", f"Successful{verb}{resource.kind}", message, key), uids
