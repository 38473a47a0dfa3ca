"""What the recorder has observed and not written yet."""

from __future__ import annotations

import dataclasses

from traincrew.history import documents
from traincrew.history.records import Batch, JobRecord, PodRecord, SampleRecord, StatusRecord
from traincrew.history.store import HistoryStore
from traincrew.kinds.kind import JobKind

MAX_WAITING = 20_000
"""States of jobs, and samples, that wait while the store cannot be written. The oldest are dropped."""
LONGEST_INTERVAL = 60_000
"""Milliseconds between two samples of a pod that has been running for an hour. A younger one is sampled more often."""


@dataclasses.dataclass
class PendingRecords:
    """What was observed and is not written yet. Of a pod and an event only the latest state is kept, of a job each one."""

    jobs: list[tuple[JobKind, bytes, int]] = dataclasses.field(default_factory=list)
    pods: dict[str, bytes] = dataclasses.field(default_factory=dict)
    events: dict[str, bytes] = dataclasses.field(default_factory=dict)
    samples: list[SampleRecord] = dataclasses.field(default_factory=list)
    deleted: dict[str, int] = dataclasses.field(default_factory=dict)

    def followed_by(self, newer: PendingRecords) -> PendingRecords:
        return PendingRecords(
            [*self.jobs, *newer.jobs][-MAX_WAITING:],
            {**self.pods, **newer.pods},
            {**self.events, **newer.events},
            [*self.samples, *newer.samples][-MAX_WAITING:],
            {**self.deleted, **newer.deleted},
        )


@dataclasses.dataclass
class SampledPod:
    uid: str
    seen: int
    sampled: int = 0

    def is_due(self, now: int) -> bool:
        return now - self.sampled >= min((now - self.seen) // 60, LONGEST_INTERVAL)


def write(store: HistoryStore, taken: PendingRecords, now: int) -> dict[str, bytes]:
    """In the thread of the store. Returns the pods whose jobs are not known yet, by UID."""
    jobs, statuses = dict[str, JobRecord](), list[StatusRecord]()
    for kind, text, time in taken.jobs:
        record, status = documents.job(kind, text)
        jobs[record.uid] = record
        statuses.append(StatusRecord(record.uid, time, status))
    events = [each for text in taken.events.values() if (each := documents.event(text, now)) is not None]
    store.write(Batch(tuple(jobs.values()), tuple(statuses), events=tuple(events)))
    pods, unknown = list[PodRecord](), dict[str, bytes]()
    for uid, text in taken.pods.items():
        if (pod := documents.pod(text)) is None:
            continue
        if job := store.job_of(pod.owner, *pod.job):
            pods.append(pod.record._replace(job=job))
        else:
            unknown[uid] = text
    store.write(Batch(pods=tuple(pods), samples=tuple(taken.samples), deleted=tuple(taken.deleted.items())))
    return unknown
