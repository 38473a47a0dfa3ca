"""Recordings as messages, and back: the CLI reads them from the console."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from traincrew.apimachinery import times
from traincrew.console.contract.history import JobRecording, RecordedJob, RecordedObject, RecordedSamples, RecordedStatus
from traincrew.console.view import job_summaries
from traincrew.history.records import EventRecord, JobRecord, PodRecord, Recording, SampleRecord, StatusRecord
from traincrew.inspection import observed_job
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model.meta import Time


def kind(singular: str) -> JobKind | None:
    """None: a kind that this version does not know."""
    return next((each for each in KINDS if each.singular == singular), None)


def time(milliseconds: int | None) -> Time | None:
    return moment(milliseconds) if milliseconds is not None else None


def moment(milliseconds: int) -> Time:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)


def _milliseconds(moment: Time | None) -> int | None:
    return int(moment.timestamp() * 1000) if moment is not None else None


def recorded_job(record: JobRecord, now: Time) -> RecordedJob | None:
    """now: the present. A job that was deleted is shown as of its deletion."""
    found = kind(record.kind)
    if found is None:
        return None
    deleted = time(record.deleted)
    return RecordedJob(
        summary=job_summaries.summarize(found, observed_job.observe(found, record.object), deleted or now), deleted=deleted
    )


def job_object(record: JobRecord) -> RecordedObject:
    return RecordedObject(
        uid=record.uid, kind=record.kind, deleted=time(record.deleted), object=msgspec.json.decode(record.object)
    )


def message(recording: Recording, unreadable: Sequence[str] = ()) -> JobRecording:
    return JobRecording(
        job=job_object(recording.job),
        statuses=[RecordedStatus(time=each.time, status=msgspec.json.decode(each.status)) for each in recording.statuses],
        pods=[
            RecordedObject(uid=each.uid, kind="pod", deleted=time(each.deleted), object=msgspec.json.decode(each.object))
            for each in recording.pods
        ],
        events=[msgspec.json.decode(each.object) for each in recording.events],
        samples=_samples(recording.samples),
        unreadable=list(unreadable),
    )


def _samples(records: Iterable[SampleRecord]) -> list[RecordedSamples]:
    by_pod: dict[str, list[SampleRecord]] = {}
    for each in records:
        by_pod.setdefault(each.pod, []).append(each)
    return [
        RecordedSamples(
            pod=pod,
            times=[each.time for each in samples],
            cpu=[each.cpu for each in samples],
            memory=[each.memory for each in samples],
        )
        for pod, samples in by_pod.items()
    ]


def parse(found: JobRecording) -> Recording:
    uid = found.job.uid
    return Recording(
        job_record(found.job),
        tuple(StatusRecord(uid, each.time, msgspec.json.encode(each.status)) for each in found.statuses),
        tuple(_pod(each, uid) for each in found.pods),
        tuple(_event(each) for each in found.events),
        tuple(
            SampleRecord(each.pod, moment, cpu, memory)
            for each in found.samples
            for moment, cpu, memory in zip(each.times, each.cpu, each.memory, strict=True)
        ),
    )


def job_record(found: RecordedObject) -> JobRecord:
    metadata = found.object["metadata"]
    return JobRecord(
        found.uid,
        metadata["namespace"],
        found.kind,
        metadata["name"],
        _created(metadata),
        _milliseconds(found.deleted),
        msgspec.json.encode(found.object),
    )


def _pod(found: RecordedObject, job: str) -> PodRecord:
    metadata = found.object["metadata"]
    deleted, text = _milliseconds(found.deleted), msgspec.json.encode(found.object)
    return PodRecord(found.uid, job, metadata["name"], _created(metadata), deleted, text)


def _event(document: dict[str, Any]) -> EventRecord:
    involved = document.get("involvedObject") or {}
    return EventRecord(document["metadata"].get("uid", ""), involved.get("uid", ""), 0, msgspec.json.encode(document))


def _created(metadata: dict[str, Any]) -> int:
    return _milliseconds(times.parse_optional(metadata.get("creationTimestamp"))) or 0
