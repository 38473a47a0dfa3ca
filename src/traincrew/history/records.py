"""What the store keeps of a job (pure values). Times are milliseconds since 1970; objects are JSON."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

CHUNK_BYTES = 64 * 1024
"""Of the lines of a LogChunk. The line with which it reaches that size is its last."""
MAX_LINE = 256 * 1024
"""Bytes of a line of a log that are kept."""


class JobRecord(NamedTuple):
    uid: str
    namespace: str
    kind: str
    """Lowercase singular."""
    name: str
    created: int
    deleted: int | None
    """None: the job exists, as far as the recorder knows."""
    object: bytes


class PodRecord(NamedTuple):
    uid: str
    job: str
    """UID."""
    name: str
    created: int
    deleted: int | None
    object: bytes


class EventRecord(NamedTuple):
    uid: str
    involved: str
    """UID of the object."""
    time: int
    object: bytes


class StatusRecord(NamedTuple):
    job: str
    time: int
    status: bytes


class SampleRecord(NamedTuple):
    pod: str
    """UID."""
    time: int
    cpu: float
    """Cores."""
    memory: int
    """Bytes."""


class LogChunk(NamedTuple):
    """Lines of a container, each with its timestamp before it, as the kubelet prints them with `timestamps=true`."""

    pod: str
    """UID."""
    container: str
    run: int
    """The restart count of the container."""
    number: int
    """Chunks of a run are in the order of their numbers."""
    time: int
    """Of the last line."""
    lines: bytes


@dataclasses.dataclass(frozen=True)
class Batch:
    """Records that are written together."""

    jobs: tuple[JobRecord, ...] = ()
    statuses: tuple[StatusRecord, ...] = ()
    pods: tuple[PodRecord, ...] = ()
    events: tuple[EventRecord, ...] = ()
    samples: tuple[SampleRecord, ...] = ()
    deleted: tuple[tuple[str, int], ...] = ()
    """UIDs of jobs and pods, and when they were deleted."""

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in dataclasses.fields(self))


@dataclasses.dataclass(frozen=True)
class Recording:
    """Everything that is recorded of one job, but for the lines of its logs."""

    job: JobRecord
    statuses: tuple[StatusRecord, ...] = ()
    pods: tuple[PodRecord, ...] = ()
    """In the order of their creation."""
    events: tuple[EventRecord, ...] = ()
    samples: tuple[SampleRecord, ...] = ()


class JobScope(NamedTuple):
    """What rights are given for."""

    kind: str
    namespace: str


@dataclasses.dataclass(frozen=True)
class JobQuery:
    uid: str = ""
    namespace: str = ""
    """Empty: all."""
    kind: str = ""
    name: str = ""
    deleted: bool | None = None
    """None: both."""
    scopes: tuple[JobScope, ...] | None = None
    """None: all."""
    limit: int = 5000
