"""The lines of a recording file, and their limits (pure). The file is gzip-compressed JSON Lines: docs/console.md describes it.

There are no file names and no declared sizes in it. The first line says what it is, the last one that it is complete.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from traincrew import errors
from traincrew.apimachinery import json_nesting
from traincrew.history.records import EventRecord, JobRecord, LogChunk, PodRecord, Recording, SampleRecord, StatusRecord

FORMAT = 1
SUFFIX = ".recording.jsonl.gz"
SAMPLES_OF_A_LINE = 2000

Milliseconds = Annotated[int, msgspec.Meta(ge=0, lt=253_402_300_800_000)]
"""Since 1970, and before the year 10,000."""
Number = Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)]
Amount = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Text = Annotated[str, msgspec.Meta(max_length=253)]
Remark = Annotated[str, msgspec.Meta(max_length=4096)]


class Manifest(msgspec.Struct, tag_field="type", tag="recording", rename="camel", kw_only=True, frozen=True):
    """The first line."""

    format: int
    version: Text
    """Of traincrew."""
    exported: Milliseconds
    server: Remark = ""
    """The API server of the cluster."""


class JobLine(msgspec.Struct, tag_field="type", tag="job", rename="camel", kw_only=True, frozen=True):
    """The second line. The object has no secret values of environment variables."""

    uid: Text
    namespace: Text
    kind: Text
    """Lowercase singular."""
    name: Text
    created: Milliseconds
    deleted: Milliseconds | None = None
    object: dict[str, Any]


class StatusLine(msgspec.Struct, tag_field="type", tag="status", rename="camel", kw_only=True, frozen=True):
    time: Milliseconds
    status: dict[str, Any]


class PodLine(msgspec.Struct, tag_field="type", tag="pod", rename="camel", kw_only=True, frozen=True):
    uid: Text
    name: Text
    created: Milliseconds
    deleted: Milliseconds | None = None
    object: dict[str, Any]


class EventLine(msgspec.Struct, tag_field="type", tag="event", rename="camel", kw_only=True, frozen=True):
    uid: Text
    involved: Text
    time: Milliseconds
    object: dict[str, Any]


class SamplesLine(msgspec.Struct, tag_field="type", tag="samples", rename="camel", kw_only=True, frozen=True):
    """Of one pod. The lists have one value for each time."""

    pod: Text
    times: list[Milliseconds]
    cpu: list[float]
    memory: list[Amount]


class LogLine(msgspec.Struct, tag_field="type", tag="log", rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """Lines of one run of a container, each with its timestamp. `base64` in place of `text`: they are not UTF-8."""

    pod: Text
    container: Text
    run: Number
    number: Number
    time: Milliseconds
    text: str = ""
    base64: str = ""


class MissingLine(msgspec.Struct, tag_field="type", tag="missing", rename="camel", kw_only=True, frozen=True):
    """What is not in the recording, and why."""

    message: Remark


class EndLine(msgspec.Struct, tag_field="type", tag="end", rename="camel", kw_only=True, frozen=True):
    """The last line."""

    lines: int
    """Before this one."""


Line = Manifest | JobLine | StatusLine | PodLine | EventLine | SamplesLine | LogLine | MissingLine | EndLine
_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


@dataclasses.dataclass(frozen=True)
class RecordingLimits:
    file: int
    """Bytes of the file."""
    content: int
    """Bytes of its decompressed lines."""
    line: int = 8 * 1024 * 1024
    pods: int = 20_000
    others: int = 200_000
    """Statuses, events, missing parts: of each kind."""


UPLOAD = RecordingLimits(file=256 * 1024 * 1024, content=1024 * 1024 * 1024)
LOCAL = RecordingLimits(file=4 * 1024 * 1024 * 1024, content=32 * 1024 * 1024 * 1024)


def encode(line: Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def decode(number: int, text: bytes) -> Line:
    """Raise RecordingError. number: of the line, for messages."""
    try:
        return json_nesting.decode(_decoder.decode, text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if number == 1:
            raise not_a_recording() from None
        raise errors.RecordingError(f"the recording is damaged: line {number} is not valid: {error}") from None


def check_manifest(line: Line) -> Manifest:
    """Raise RecordingError."""
    if not isinstance(line, Manifest):
        raise not_a_recording()
    if line.format > FORMAT:
        raise errors.RecordingError(
            f"the recording was written by a newer version of traincrew ({line.version}, format {line.format}; this version "
            f"reads up to {FORMAT}). Use that version to open it."
        )
    return line


def not_a_recording() -> errors.RecordingError:
    return errors.RecordingError("the file is not a recording of traincrew. Run `traincrew export JOB` to write one.")


def of_recording(recording: Recording) -> Iterator[Line]:
    """All lines but the first, the last and those of logs."""
    job = recording.job
    yield JobLine(
        uid=job.uid,
        namespace=job.namespace,
        kind=job.kind,
        name=job.name,
        created=job.created,
        deleted=job.deleted,
        object=msgspec.json.decode(job.object),
    )
    for status in recording.statuses:
        yield StatusLine(time=status.time, status=msgspec.json.decode(status.status))
    for pod in recording.pods:
        document = msgspec.json.decode(pod.object)
        yield PodLine(uid=pod.uid, name=pod.name, created=pod.created, deleted=pod.deleted, object=document)
    for event in recording.events:
        yield EventLine(uid=event.uid, involved=event.involved, time=event.time, object=msgspec.json.decode(event.object))
    yield from _samples(recording.samples)


def _samples(records: Iterable[SampleRecord]) -> Iterator[SamplesLine]:
    by_pod: dict[str, list[SampleRecord]] = {}
    for each in records:
        by_pod.setdefault(each.pod, []).append(each)
    for pod, kept in by_pod.items():
        for start in range(0, len(kept), SAMPLES_OF_A_LINE):
            part = kept[start : start + SAMPLES_OF_A_LINE]
            times, cpu, memory = [each.time for each in part], [each.cpu for each in part], [each.memory for each in part]
            yield SamplesLine(pod=pod, times=times, cpu=cpu, memory=memory)


def of_log(chunk: LogChunk) -> LogLine:
    pod, container, run, number, time, lines = chunk
    try:
        return LogLine(pod=pod, container=container, run=run, number=number, time=time, text=lines.decode())
    except UnicodeDecodeError:
        encoded = base64.b64encode(lines).decode()
        return LogLine(pod=pod, container=container, run=run, number=number, time=time, base64=encoded)


def chunk(line: LogLine) -> LogChunk:
    """Raise RecordingError."""
    try:
        lines = base64.b64decode(line.base64, validate=True) if line.base64 else line.text.encode()
    except (binascii.Error, UnicodeEncodeError):
        raise errors.RecordingError(f"the recording is damaged: the log of {line.container!r} is not valid.") from None
    return LogChunk(line.pod, line.container, line.run, line.number, line.time, lines)


def job_record(line: JobLine) -> JobRecord:
    return JobRecord(line.uid, line.namespace, line.kind, line.name, line.created, line.deleted, msgspec.json.encode(line.object))


def pod_record(line: PodLine, job: str) -> PodRecord:
    return PodRecord(line.uid, job, line.name, line.created, line.deleted, msgspec.json.encode(line.object))


def event_record(line: EventLine) -> EventRecord:
    return EventRecord(line.uid, line.involved, line.time, msgspec.json.encode(line.object))


def status_record(line: StatusLine, job: str) -> StatusRecord:
    return StatusRecord(job, line.time, msgspec.json.encode(line.status))


def sample_records(line: SamplesLine) -> tuple[SampleRecord, ...]:
    """Raise RecordingError."""
    if not len(line.times) == len(line.cpu) == len(line.memory):
        raise errors.RecordingError("the recording is damaged: the lists of samples differ in length.")
    return tuple(SampleRecord(line.pod, *each) for each in zip(line.times, line.cpu, line.memory, strict=True))
