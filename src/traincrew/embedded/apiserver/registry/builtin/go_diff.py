"""Diffs of two values, for messages in which the API server prints a diff of its Go structs."""

from __future__ import annotations

from traincrew.apimachinery import go_format
from traincrew.apimachinery.unstructured import Object


def between(old: Object, new: Object) -> str:
    changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return "\n".join(
        f"  {key}: {go_format.field_value(old.get(key))} -> {go_format.field_value(new.get(key))}" for key in changed
    )
