"""Collects what is exported of a job: the history, as far as the user may read it, and what the API server has now."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

import msgspec

from traincrew import errors
from traincrew.apimachinery import redaction
from traincrew.client import clock, pod_logs
from traincrew.client.interfaces import LogReader
from traincrew.console.history_reader import HistoryReader, ReadableRecording
from traincrew.console.job_reader import JobAddress
from traincrew.console.settings import ConsoleTarget
from traincrew.console.stored_logs import StoredLogs
from traincrew.history import container_runs, documents, recording_export
from traincrew.history.container_runs import LoggedPod
from traincrew.history.recording_export import MAX_LINE, ExportedJob, RunReader
from traincrew.history.records import EventRecord, PodRecord, Recording, StatusRecord
from traincrew.history.stored_logs import RunLines
from traincrew.inspection import log_files, observed_job
from traincrew.model import resources

NO_RECORDER = (
    "Nothing was recorded of this job while it ran. Earlier statuses, samples of CPU and memory, and pods that were deleted "
    "before the export are missing."
)


NOT_REPLACED = (
    "The logs are as the containers have printed them. Secret values in them are not replaced: read them before you share the "
    "file."
)


def of_record(found: ReadableRecording, target: ConsoleTarget) -> ExportedJob:
    """A job as the history has it."""
    notes = [*found.unreadable, *([NOT_REPLACED] if _has_secrets(found, target) else [])]
    return ExportedJob(found.recording, found.logs, tuple(notes), server=target.server)


def _has_secrets(found: ReadableRecording, target: ConsoleTarget) -> bool:
    """Whether logs may have secret values: the recorder replaces them in those that it copies, and the kubelet of this machine
    when it removes the pod."""
    if not target.log_root:
        return False
    root, namespace = pathlib.Path(target.log_root), found.recording.job.namespace
    return any(
        redaction.secret_values(msgspec.json.decode(each.object))
        and not log_files.secrets_replaced(root, namespace, each.name, each.uid)
        for each in found.recording.pods
    )


async def of_job(client: LogReader, history: HistoryReader, stored: StoredLogs, job: JobAddress, server: str) -> ExportedJob:
    """A job that exists. Raise NotFound, Forbidden."""
    present = await _read(client, job)
    missing = list(present.missing)
    recorded = await _recorded(history, present.recording.job.uid, missing)
    recording = recording_export.merged(recorded.recording if recorded is not None else None, present.recording)
    root = await stored.root(job.namespace)
    logs = _Logs(client, job.namespace, root, recorded.logs if recorded is not None else None, present.pods)
    return ExportedJob(recording, logs, tuple(dict.fromkeys(missing)), present.secrets, server)


async def _recorded(history: HistoryReader, uid: str, missing: list[str]) -> ReadableRecording | None:
    try:
        found = await history.read(uid)
    except errors.StoreError as error:
        missing.append(f"{NO_RECORDER} The history cannot be read: {error}")
        return None
    except errors.UserError:  # no recorder, or one that was started just now
        missing.append(NO_RECORDER)
        return None
    missing += found.unreadable
    return found


class _Present(NamedTuple):
    recording: Recording
    pods: Mapping[str, LoggedPod]
    """Those that exist, by UID."""
    missing: tuple[str, ...]
    secrets: tuple[bytes, ...]


async def _read(client: LogReader, job: JobAddress) -> _Present:
    raw = await client.get(job.kind.resource, job.namespace, job.name)
    now = int(clock.now().timestamp() * 1000)
    record, status = documents.job(job.kind, raw)
    missing, texts = list[str](), list[bytes]()
    try:
        labels = observed_job.selector(job.name)
        listed = [item async for page in client.pages(resources.PODS, job.namespace, labels=labels) for item in page.items]
        texts = [each for each in listed if observed_job.belongs(observed_job.decode_pod(each), job.kind, job.name)]
    except errors.Forbidden as error:
        missing.append(error.message)
    pods = [found.record._replace(job=record.uid) for each in texts if (found := documents.pod(each)) is not None]
    events = await _events(client, job, {record.uid, *(pod.uid for pod in pods)}, now, missing)
    logged = {found.uid: found for found in map(container_runs.read, texts)}
    originals: list[dict[str, Any]] = [msgspec.json.decode(each) for each in (raw, *texts)]
    recording = Recording(record, (StatusRecord(record.uid, now, status),), tuple(pods), tuple(events))
    return _Present(recording, logged, tuple(missing), recording_export.secrets_of(originals))


async def _events(client: LogReader, job: JobAddress, uids: set[str], now: int, missing: list[str]) -> list[EventRecord]:
    try:
        listed = [item async for page in client.pages(resources.EVENTS, job.namespace) for item in page.items]
    except errors.Forbidden as error:
        missing.append(error.message)
        return []
    found = (documents.event(each, now) for each in listed)
    return [each for each in found if each is not None and each.involved in uids]


class _Logs:
    """The files of this machine; else what is recorded, and behind it what the node of a pod that exists has."""

    def __init__(
        self,
        client: LogReader,
        namespace: str,
        root: pathlib.Path | None,
        recorded: RunReader | None,
        pods: Mapping[str, LoggedPod],
    ) -> None:
        self._client, self._namespace, self._root, self._recorded, self._pods = client, namespace, root, recorded, pods

    async def runs(self, pod: PodRecord, container: str) -> AsyncIterator[RunLines]:
        reference = pod_logs.ContainerReference(self._namespace, pod.name, container)
        if self._root is not None and log_files.newest(self._root, reference, pod.uid) is not None:
            async for run, lines in log_files.runs(self._root, reference, pod.uid):
                yield RunLines(run, lines)
            return
        last, position = -1, pod_logs.LogPosition()
        if self._recorded is not None:
            async for batch in self._recorded.runs(pod, container):
                for line in batch.lines:
                    position.took(line)
                last = batch.run
                yield batch
        if (logged := self._pods.get(pod.uid)) is not None and container in logged.runs:
            async for batch in self._of_node(reference, last, logged.runs[container].number, position):
                yield batch

    async def _of_node(
        self, reference: pod_logs.ContainerReference, last: int, run: int, position: pod_logs.LogPosition
    ) -> AsyncIterator[RunLines]:
        """The present run and the one before, without the lines that are recorded."""
        if run < 0:
            return  # the container has not started
        for number in range(max(run - 1, last, 0), run + 1):
            wanted = pod_logs.PodLogOptions(previous=number < run, max_line=MAX_LINE)
            resumed = pod_logs.Resumed(position)
            try:
                async for lines in pod_logs.lines(self._client, reference, wanted):
                    new = [line for line in lines if resumed.is_new(line)]
                    for line in new:
                        position.took(line)
                    yield RunLines(number, new)
            except (errors.Rejected, errors.NotFound):  # the node has removed it, or the pod is gone
                continue
