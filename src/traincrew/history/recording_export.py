"""Writes a recorded job as one file, with the lines of its logs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Protocol

import traincrew
from traincrew import errors
from traincrew.apimachinery import redaction
from traincrew.client import clock, pod_logs
from traincrew.history import container_runs, recording_lines, records
from traincrew.history.recording_file import RecordingEncoder
from traincrew.history.recording_lines import FORMAT, Line, Manifest, MissingLine
from traincrew.history.records import LogChunk, PodRecord, Recording
from traincrew.history.stored_logs import RunLines

MAX_LINE = records.MAX_LINE
MAX_MESSAGE = 4000


class RunReader(Protocol):
    def runs(self, pod: PodRecord, container: str) -> AsyncIterator[RunLines]:
        """All lines, the oldest first. Raise Forbidden if the user may not read logs."""
        ...


@dataclasses.dataclass(frozen=True)
class ExportedJob:
    recording: Recording
    logs: RunReader
    missing: tuple[str, ...] = ()
    """What is not in the recording, and why."""
    secrets: tuple[bytes, ...] = ()
    """Values that are replaced where a container prints them."""
    server: str = ""


async def encoded(job: ExportedJob) -> AsyncIterator[bytes]:
    """The file. An error ends it before its last line: what was written so far is not taken for a recording."""
    encoder = RecordingEncoder()
    for line in _beginning(job):
        if chunk := encoder.line(line):
            yield chunk
    async for line in _logs(job):
        if chunk := encoder.line(line):
            yield chunk
    yield encoder.end()


def _beginning(job: ExportedJob) -> Iterator[Line]:
    exported = int(clock.now().timestamp() * 1000)
    yield Manifest(format=FORMAT, version=traincrew.__version__, exported=exported, server=job.server)
    lines = recording_lines.of_recording(job.recording)
    yield next(lines)  # the job
    yield from (_missing(each) for each in job.missing)
    yield from lines


def _missing(message: str) -> MissingLine:
    return MissingLine(message=message[:MAX_MESSAGE])


async def _logs(job: ExportedJob) -> AsyncIterator[Line]:
    for pod in job.recording.pods:
        for container in container_runs.read(pod.object).runs:
            try:
                async for chunk in _chunks(job, pod, container):
                    yield recording_lines.of_log(chunk)
            except errors.Forbidden as error:
                yield _missing(f"Logs: {error.message}")
                return
            except errors.ApiError as error:
                yield _missing(f"The log of {pod.name}, container {container}: {error.message}")


async def _chunks(job: ExportedJob, pod: PodRecord, container: str) -> AsyncIterator[LogChunk]:
    run, number, lines, time = -1, 0, bytearray(), 0
    async for batch in job.logs.runs(pod, container):
        for line in batch.lines:
            if lines and (batch.run != run or len(lines) >= records.CHUNK_BYTES):
                yield LogChunk(pod.uid, container, run, number, time, bytes(lines))
                number, lines = number + 1, bytearray()
            if batch.run != run:
                run, number = batch.run, 0
            lines += _text(line, job.secrets) + b"\n"
            time = line.nanoseconds // 1_000_000
    if lines:
        yield LogChunk(pod.uid, container, run, number, time, bytes(lines))


def _text(line: pod_logs.PodLogLine, secrets: Iterable[bytes]) -> bytes:
    return pod_logs.encode(line._replace(text=redaction.without(line.text, secrets)[:MAX_LINE]))


def merged(recorded: Recording | None, present: Recording) -> Recording:
    """What is recorded, with the present state, which may be a second newer. Both are of one job."""
    if recorded is None:
        return present
    pods = {each.uid: each for each in (*recorded.pods, *present.pods)}
    events = {each.uid: each for each in (*recorded.events, *present.events)}
    last = recorded.statuses[-1].status if recorded.statuses else b""
    newer = tuple(each for each in present.statuses if each.status != last)
    return Recording(
        present.job,
        (*recorded.statuses, *newer),
        tuple(sorted(pods.values(), key=lambda pod: (pod.created, pod.name))),
        tuple(sorted(events.values(), key=lambda event: event.time)),
        recorded.samples,
    )


def secrets_of(documents: Iterable[dict[str, object]]) -> tuple[bytes, ...]:
    """The values of secret variables of jobs and pods, the longest first."""
    found = set(itertools.chain.from_iterable(redaction.secret_values(each) for each in documents))
    return tuple(each.encode() for each in sorted(found, key=len, reverse=True))
