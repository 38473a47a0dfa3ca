"""Jobs that are recorded, also those that were deleted."""

from __future__ import annotations

from typing import Any

from traincrew.console.contract.jobs import JobSummary
from traincrew.console.contract.message import Message
from traincrew.model.meta import Time


class RecordedJob(Message, kw_only=True):
    summary: JobSummary
    """As it was last seen."""
    deleted: Time | None = None
    """When the job was deleted, as the recorder saw it. Null: it exists."""


class RecordedJobList(Message, kw_only=True):
    """The newest first."""

    jobs: list[RecordedJob]
    truncated: bool
    """There are more."""


class OpenedRecording(Message, kw_only=True):
    """A recording file that the user has opened."""

    id: str
    """`NAME@ID` stands for the name of its job in paths and topics."""
    namespace: str
    kind: str
    name: str
    exported: Time | None = None
    size: int
    """Bytes of the file."""


class OpenedRecordingList(Message, kw_only=True):
    recordings: list[OpenedRecording]
    """The one that was looked at last is the first one."""


class RecordedObject(Message, kw_only=True):
    """A job or a pod as it was last seen, without secret values of environment variables."""

    uid: str
    kind: str
    """The lowercase singular of a job; `pod`."""
    deleted: Time | None = None
    object: dict[str, Any]


class RecordedObjectList(Message, kw_only=True):
    objects: list[RecordedObject]


class RecordedStatus(Message, kw_only=True):
    time: int
    """Milliseconds since 1970, when the recorder saw it."""
    status: dict[str, Any]


class RecordedSamples(Message, kw_only=True):
    """What a pod used. The lists have one value for each of `times`."""

    pod: str
    """UID."""
    times: list[int]
    """Milliseconds since 1970."""
    cpu: list[float]
    """Cores."""
    memory: list[int]
    """Bytes."""


class JobRecording(Message, kw_only=True):
    """Everything that is recorded of one job, but for its logs."""

    format: int = 1
    job: RecordedObject
    statuses: list[RecordedStatus]
    pods: list[RecordedObject]
    """In the order of their creation. Several pods of a replica have the same name."""
    events: list[dict[str, Any]]
    samples: list[RecordedSamples]
    unreadable: list[str] = []
    """What the user may not read, in the words of the API server."""


class ConditionChange(Message, kw_only=True):
    """A condition of a job had this status and reason from then on."""

    time: Time
    type: str
    status: str
    reason: str
    message: str


class ConditionHistory(Message, kw_only=True):
    """The oldest first; of many, the last 200."""

    changes: list[ConditionChange]
