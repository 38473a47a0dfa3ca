"""JSON merge patches (RFC 7386): the smallest one that turns a value into another, and whether one is needed at all."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import quantities


def create_merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """What to send so that `old` becomes `new`; keys that have gone are sent as null. Lists are replaced whole."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            inner = create_merge_patch(before, value)
            if inner:
                patch[key] = inner
        elif key not in old or value != before:
            patch[key] = value
    return patch


def contains(found: Any, wanted: Any) -> bool:
    """Whether a stored value already says what is wanted.

    The API server fills in defaults, also for an empty list, and spells quantities its own way: `1000m` comes back as `1`.
    """
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and contains(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        if not wanted or not isinstance(found, list):
            return not wanted
        return len(found) == len(wanted) and all(contains(*pair) for pair in zip(found, wanted, strict=True))
    return bool(found == wanted) or _same_quantity(found, wanted)


def _same_quantity(found: Any, wanted: Any) -> bool:
    try:
        return quantities.nanos(found) == quantities.nanos(wanted)
    except ValueError:
        return False
