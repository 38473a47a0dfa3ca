"""The body of a deletion."""

from __future__ import annotations

import msgspec


def options(uid: str, version: str, propagation: str, grace: int | None) -> bytes:
    chosen: dict[str, object] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if conditions := {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}:
        chosen["preconditions"] = conditions
    if propagation:
        chosen["propagationPolicy"] = propagation
    if grace is not None:
        chosen["gracePeriodSeconds"] = grace
    return msgspec.json.encode(chosen)
