"""How two values differ, for messages in which the API server prints a diff of its Go structs."""

from __future__ import annotations

from traincrew.embedded import fields
from traincrew.embedded.served import Object


def between(old: Object, new: Object) -> str:
    changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return "\n".join(f"  {key}: {fields.shown(old.get(key))} -> {fields.shown(new.get(key))}" for key in changed)
