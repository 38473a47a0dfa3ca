"""Creates JSON merge patches (RFC 7386), and decides whether a patch is needed."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import quantities


def create_merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The smallest patch that turns `old` into `new`. Removed keys are null; lists are replaced."""
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


def contains(live: Any, desired: Any) -> bool:
    """Whether the live value contains the desired one, so that no patch is needed.

    The API server sets defaults, also for an empty list, and writes quantities in canonical form: `1000m` becomes `1`.
    """
    if isinstance(desired, dict):
        return isinstance(live, dict) and all(key in live and contains(live[key], desired[key]) for key in desired)
    if isinstance(desired, list):
        if not desired or not isinstance(live, list):
            return not desired
        return len(live) == len(desired) and all(contains(*pair) for pair in zip(live, desired, strict=True))
    return bool(live == desired) or _same_quantity(live, desired)


def _same_quantity(live: Any, desired: Any) -> bool:
    try:
        return quantities.nanos(live) == quantities.nanos(desired)
    except ValueError:
        return False
