"""A recorded job in place of one that exists: in addresses, `NAME@UID` stands for its name, which no object can have."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from traincrew import errors
from traincrew.client import clock
from traincrew.client.interfaces import LogReader
from traincrew.console import history_reader, job_reader, log_requests
from traincrew.console.contract.job_detail import JobDetail, RecordingInfo
from traincrew.console.contract.metrics import JobMetrics
from traincrew.console.contract.replicas import ReplicaTimeline
from traincrew.console.history_reader import HistoryReader, ReadableRecording
from traincrew.console.job_reader import JobAddress
from traincrew.console.output_reader import OutputReader
from traincrew.console.view import job_details, pods, recordings, series, timeline, usage
from traincrew.console.view.points import Points
from traincrew.history.opened_recording import OpenedRecording
from traincrew.inspection import evidence_query
from traincrew.inspection.observed_job import ObservedJob

log = logging.getLogger(__name__)

SEPARATOR = "@"
NO_SAMPLES = "the recorder has no samples of this job: it ended before the first one, or the cluster has no metrics server"
MAX_POINTS = 1440


class RecordedSource(NamedTuple):
    job: JobAddress
    """With its own name."""
    found: ReadableRecording

    @property
    def reader(self) -> LogReader:
        return self.found.reader


def is_recorded(job: JobAddress) -> bool:
    return SEPARATOR in job.name


async def find(history: HistoryReader, job: JobAddress) -> RecordedSource:
    """Raise NoJob, Forbidden, StoreError."""
    name, _, uid = job.name.partition(SEPARATOR)
    found = await history.read(uid)
    record = found.recording.job
    if (record.kind, record.namespace, record.name) != (job.kind.singular, job.namespace, name):
        raise errors.NoJob(f"the history has no {job.kind.singular}/{name} with UID {uid[:64]!r} in namespace {job.namespace}")
    return RecordedSource(job._replace(name=name), found)


async def of_file(file: OpenedRecording) -> RecordedSource:
    """Raise RecordingError if it cannot be shown."""
    found = await history_reader.of_file(file)
    source = RecordedSource(JobAddress(found.kind, file.job.namespace, file.job.name), found)
    await check(source)
    return source


async def detail(source: RecordedSource) -> JobDetail:
    read = await job_reader.read(source.reader, source.job)
    deleted = recordings.time(source.found.recording.job.deleted)
    observed = dataclasses.replace(read.observed, deleted=deleted)
    evidence = await evidence_query.read(source.reader, observed)
    info = recording_info(source.found)
    objects = job_details.JobObjects(source.job.kind, observed, read.pods, evidence, frozenset(), may_exec=False, recording=info)
    exported = info.exported if info is not None else None
    found = job_details.detail(objects, deleted or exported or clock.now())
    return msgspec.structs.replace(found, timeline=_timeline(source, observed, found))


def _timeline(source: RecordedSource, observed: ObservedJob, found: JobDetail) -> list[ReplicaTimeline]:
    """With the phases of earlier pods. Of many replicas, those that the page shows."""
    names = {each.pod for each in found.replicas}
    return timeline.of_job(observed, [pods.decode(each.object) for each in source.found.recording.pods if each.name in names])


def recording_info(found: ReadableRecording) -> RecordingInfo | None:
    """None: it is a record of the history."""
    if found.file is None:
        return None
    manifest = found.file.manifest
    return RecordingInfo(
        exported=recordings.time(manifest.exported),
        version=manifest.version,
        server=manifest.server,
        missing=list(found.file.missing),
    )


async def check(source: RecordedSource) -> None:
    """Raise RecordingError if the job of a recording file cannot be shown: nobody has validated its objects."""
    try:
        await detail(source)
    except errors.TraincrewError:
        raise
    except Exception as error:
        log.info("a recording cannot be shown", exc_info=True)
        raise errors.RecordingError(f"the recording is damaged: its objects cannot be shown ({type(error).__name__}).") from None


async def metrics(source: RecordedSource, parameters: Mapping[str, str]) -> JobMetrics:
    read = await job_reader.read(source.reader, source.job)
    pattern = parameters.get("pattern", "")
    output = OutputReader(source.reader, series.pattern(pattern) if pattern else series.parse, log_requests.parse(parameters))
    await output.read(read)
    names = {pod.uid: pod.name for pod in source.found.recording.pods}
    used = dict[str, usage.PodUsage]()
    for each in source.found.recording.samples:
        kept = used.setdefault(names[each.pod], usage.PodUsage(names[each.pod], Points(MAX_POINTS)))
        kept.points.add(each.time, usage.Used(each.cpu, each.memory))
    by_name = {pod.name: pod for pod in read.pods}
    return JobMetrics(
        usage=[usage.series(source.job.name, each, by_name.get(name)).series for name, each in sorted(used.items())],
        output=[each.series for each in output.series()],
        interval=0.0,
        unavailable="" if used else NO_SAMPLES,
        errors=output.errors(),
    )
