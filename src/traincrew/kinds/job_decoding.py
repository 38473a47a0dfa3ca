"""Jobs from JSON: strict for manifests, lenient for what the API server has stored."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, managed_fields
from traincrew.model.lenient_decoding import LenientDecoder, Unreadable

_OF_THE_CREATOR = "image"
"""A field that only the creator of a job sets. Kueue sets node selectors, labels and suspend."""


def decode(kind: JobKind, raw: bytes) -> jobs.JobObject[Any]:
    """A job of a manifest. Raises msgspec.ValidationError."""
    stored: jobs.JobObject[Any] = _decoder(kind.spec).decode(raw)
    return stored


def decode_stored(kind: JobKind, raw: bytes) -> tuple[jobs.JobObject[Any], tuple[Unreadable, ...]]:
    """A job of the API server without the parts that cannot be read, and these parts."""
    stored, unreadable = _lenient_decoder(kind.spec).decode(raw)
    if kind.variants and not stored.status.contract:
        stored = msgspec.structs.replace(stored, creation=managed_fields.creation(raw, _OF_THE_CREATOR))
    return stored, unreadable


@functools.cache
def _decoder(spec: type[jobs.JobSpec]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(jobs.JobObject[spec], strict=False)  # type: ignore[valid-type]


@functools.cache
def _lenient_decoder(spec: type[jobs.JobSpec]) -> LenientDecoder[jobs.JobObject[Any]]:
    return LenientDecoder(jobs.JobObject[spec], strict=False)  # type: ignore[valid-type]
