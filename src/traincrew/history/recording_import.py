"""Writes a recording file into a store of its own, from which it is read like the history of a cluster."""

from __future__ import annotations

import collections
import re
from typing import Any

from traincrew import errors
from traincrew.history import recording_lines
from traincrew.history.recording_file import RecordingDecoder
from traincrew.history.recording_lines import (
    EndLine,
    EventLine,
    JobLine,
    Line,
    LogLine,
    Manifest,
    MissingLine,
    PodLine,
    RecordingLimits,
    SamplesLine,
    StatusLine,
)
from traincrew.history.records import Batch, JobRecord
from traincrew.history.store import HistoryStore
from traincrew.kinds import KINDS

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_UID = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?")
_BATCH = 200


class RecordingImport:
    """In the thread of the store. Every method raises RecordingError and StoreError."""

    def __init__(self, limits: RecordingLimits) -> None:
        self._limits, self._decoder = limits, RecordingDecoder(limits)
        self._manifest: Manifest | None = None
        self._job: JobRecord | None = None
        self._missing = list[str]()
        self._pods = dict[str, str]()
        """Names by UID."""
        self._counts: collections.Counter[type[Line]] = collections.Counter()
        self._waiting = list[Line]()

    @property
    def size(self) -> int:
        return self._decoder.size

    @property
    def manifest(self) -> Manifest:
        assert self._manifest is not None
        return self._manifest

    @property
    def job(self) -> JobRecord:
        assert self._job is not None
        return self._job

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(self._missing)

    def feed(self, chunk: bytes, store: HistoryStore) -> None:
        for line in self._decoder.feed(chunk):
            self._take(line)
            if isinstance(line, LogLine):
                self._flush(store)
                store.write_log(recording_lines.chunk(line))
            elif len(self._waiting) >= _BATCH:
                self._flush(store)

    def finish(self, store: HistoryStore) -> None:
        self._decoder.finish()
        if self._job is None:
            raise errors.RecordingError("the recording is damaged: it has no job.")
        self._flush(store)

    def _take(self, line: Line) -> None:
        if isinstance(line, Manifest):
            self._manifest = line
            return
        self._count(type(line))
        if isinstance(line, JobLine):
            self._take_job(line)
        elif self._job is None:
            raise errors.RecordingError("the recording is damaged: its second line is not the job.")
        elif isinstance(line, MissingLine):
            self._missing.append(line.message)
        elif isinstance(line, PodLine):
            self._take_pod(line, self._job)
        elif isinstance(line, SamplesLine | LogLine) and line.pod not in self._pods:
            raise errors.RecordingError(f"the recording is damaged: it has no pod with UID {line.pod[:64]!r}.")
        elif not isinstance(line, LogLine | EndLine):
            self._waiting.append(line)

    def _count(self, kind: type[Line]) -> None:
        self._counts[kind] += 1
        if kind is JobLine and self._counts[kind] > 1:
            raise errors.RecordingError("the recording is damaged: it has more than one job.")
        limit = self._limits.pods if kind is PodLine else self._limits.others
        if kind is not LogLine and self._counts[kind] > limit:
            raise errors.RecordingError(f"the recording has more than {limit} lines of the type {kind.__struct_config__.tag}.")

    def _take_job(self, line: JobLine) -> None:
        if line.kind not in {kind.singular for kind in KINDS}:
            raise errors.RecordingError(f"the recording is of the kind {line.kind[:64]!r}, which this version does not know.")
        _check_identity(line.object, line.uid, line.namespace, line.name)
        self._job = recording_lines.job_record(line)
        self._waiting.append(line)

    def _take_pod(self, line: PodLine, job: JobRecord) -> None:
        _check_identity(line.object, line.uid, job.namespace, line.name)
        if line.uid in self._pods:
            raise errors.RecordingError(f"the recording is damaged: pod {line.name!r} is there twice.")
        self._pods[line.uid] = line.name
        self._waiting.append(line)

    def _flush(self, store: HistoryStore) -> None:
        if not self._waiting:
            return
        lines, self._waiting, job = self._waiting, [], self.job.uid
        store.write(
            Batch(
                tuple(recording_lines.job_record(each) for each in lines if isinstance(each, JobLine)),
                tuple(recording_lines.status_record(each, job) for each in lines if isinstance(each, StatusLine)),
                tuple(recording_lines.pod_record(each, job) for each in lines if isinstance(each, PodLine)),
                tuple(recording_lines.event_record(each) for each in lines if isinstance(each, EventLine)),
                tuple(
                    sample for each in lines if isinstance(each, SamplesLine) for sample in recording_lines.sample_records(each)
                ),
            )
        )


def _check_identity(document: dict[str, Any], uid: str, namespace: str, name: str) -> None:
    """Names come into addresses and file names: they are those of objects of the API, and the same everywhere."""
    metadata = document.get("metadata")
    said = [metadata.get(field) for field in ("uid", "namespace", "name")] if isinstance(metadata, dict) else []
    if said != [uid, namespace, name]:
        raise errors.RecordingError(f"the recording is damaged: the object {name[:64]!r} has another name, namespace or UID.")
    if not _UID.fullmatch(uid) or not _NAME.fullmatch(namespace) or not _NAME.fullmatch(name):
        raise errors.RecordingError(f"the recording is damaged: {name[:64]!r} is not a name of the Kubernetes API.")
