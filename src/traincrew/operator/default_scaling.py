"""The mode of elastic jobs without the annotation, as `--scaling-default` sets it."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.kinds import elasticity
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, naming
from traincrew.model.lenient_decoding import Unreadable
from traincrew.operator.unreadable_objects import Decode
from traincrew.planner import scaling


def applied(kind: JobKind, decode: Decode, mode: str) -> Decode:
    """Decodes jobs as if those that can be scaled had the annotation. The stored jobs do not get it."""
    if mode == elasticity.MANUAL:
        return decode

    def decode_with_mode(raw: bytes) -> tuple[Any, tuple[Unreadable, ...]]:
        job, unreadable = decode(raw)
        return _with_mode(kind, job, mode), unreadable

    return decode_with_mode


def _with_mode(kind: JobKind, stored: jobs.JobObject[Any], mode: str) -> jobs.JobObject[Any]:
    annotations = stored.metadata.annotations
    if naming.SCALING in annotations:
        return stored
    meta = msgspec.structs.replace(stored.metadata, annotations={**annotations, naming.SCALING: mode})
    changed = msgspec.structs.replace(stored, metadata=meta)
    kind = kind.following(changed)
    request = scaling.of(kind, kind.job(changed))
    # A job that cannot be scaled did not ask for it: nothing is reported.
    return stored if request is None or request.error else changed
