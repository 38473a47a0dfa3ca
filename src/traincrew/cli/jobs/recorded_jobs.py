"""Jobs that are gone, from the history that a console serves."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

from traincrew import errors
from traincrew.apimachinery import durations
from traincrew.cli import cluster_target
from traincrew.cli.jobs import console_addresses, console_client
from traincrew.cli.render import terminal
from traincrew.client import clock
from traincrew.console.contract.history import JobRecording, RecordedObject, RecordedObjectList
from traincrew.console.view import recordings
from traincrew.history.recorded_reader import RecordedReader, StoredLogReader
from traincrew.history.records import PodRecord, Recording
from traincrew.inspection import job_references, observed_job
from traincrew.inspection.observed_job import ObservedJob
from traincrew.kinds.kind import JobKind

OLDER_VERSION = (
    "Deleted jobs are not recorded: the cluster was started by an older version. Restart it: `traincrew down`, `traincrew up -d`."
)


class RecordedJob(NamedTuple):
    observed: ObservedJob
    raw: bytes
    reader: RecordedReader
    """Reads the job, its pods, events and logs."""
    pods: tuple[PodRecord, ...]


class ListedJobs(NamedTuple):
    client: console_client.ConsoleClient
    objects: list[RecordedObject]
    """At least one; the last job of the name is the first."""


@contextlib.asynccontextmanager
async def find(
    target_options: cluster_target.HistoryTargetOptions, target: cluster_target.ClusterTarget, name: str, missing: errors.NoJob
) -> AsyncIterator[RecordedJob]:
    """The last job of this name that was deleted. Raise NoJob: `missing`, and what is known of the history."""
    async with listed(target_options, target, name, missing) as (client, objects):
        path = f"history/recordings/{objects[0].uid}"
        found = _read(client, await client.get(path, {}, JobRecording))
        announce(found.observed, len(objects))
        yield found


@contextlib.asynccontextmanager
async def listed(
    target_options: cluster_target.HistoryTargetOptions, target: cluster_target.ClusterTarget, name: str, missing: errors.NoJob
) -> AsyncIterator[ListedJobs]:
    """The recorded jobs of this name. Raise NoJob: `missing`, and what is known of the history."""
    reference = job_references.parse(name)
    try:
        async with console_client.connected(target_options, target) as client:
            query = {
                "namespace": target.namespace,
                "name": reference.name,
                "kind": reference.kind.singular if reference.kind else "",
            }
            found = await _list(client, query, missing)
            if not found.objects:
                raise missing
            yield ListedJobs(client, found.objects)
    except console_addresses.NoConsole as error:
        raise errors.NoJob(f"{missing} {error}") from None


async def _list(client: console_client.ConsoleClient, query: Mapping[str, str], missing: errors.NoJob) -> RecordedObjectList:
    """Raise NoJob: the job is missing, whatever the reason is for which the history cannot be read."""
    try:
        return await client.get("history/objects", query, RecordedObjectList)
    except errors.NoJob:
        raise errors.NoJob(f"{missing} {OLDER_VERSION}") from None
    except errors.TraincrewError as error:
        text = str(error)
        raise errors.NoJob(f"{missing} Deleted jobs cannot be searched: {text.rstrip('.')}.") from None


def _read(client: console_client.ConsoleClient, message: JobRecording) -> RecordedJob:
    recording = recordings.parse(message)
    kind = recordings.kind(recording.job.kind)
    if kind is None:
        raise errors.NoJob(f"the history has a job of the kind {recording.job.kind!r}, which this version does not know")
    for text in message.unreadable:
        terminal.echo(f"warning: {text}", err=True)
    return of_recording(kind, recording, console_client.ConsoleLogs(client, recording.job.uid))


def of_recording(kind: JobKind, recording: Recording, logs: StoredLogReader) -> RecordedJob:
    pods = {pod.name: observed_job.decode_pod(pod.object) for pod in recording.pods}  # the last one of each name
    observed = observed_job.observe(kind, recording.job.object, pods.values())
    observed = dataclasses.replace(observed, deleted=recordings.time(recording.job.deleted))
    return RecordedJob(observed, recording.job.object, RecordedReader(recording, logs, {}), recording.pods)


def announce(observed: ObservedJob, known: int) -> None:
    when = f" {durations.age(observed.deleted, clock.now())} ago" if observed.deleted is not None else ""
    others = f" The history has {known} jobs of this name; this is the last one." if known > 1 else ""
    terminal.echo(f"{observed.reference} was deleted{when}. This is its record.{others}", err=True)


async def deleted(
    target_options: cluster_target.HistoryTargetOptions, target: cluster_target.ClusterTarget, namespace: str | None
) -> list[tuple[ObservedJob, bytes]]:
    """All jobs that were deleted; namespace None: of all namespaces. Raise NoConsole."""
    async with console_client.connected(target_options, target) as client:
        query = {"deleted": "1", **({"namespace": namespace} if namespace else {})}
        answer = await client.get("history/objects", query, RecordedObjectList)
    return [found for each in answer.objects if (found := _observe(each)) is not None]


def _observe(listed: RecordedObject) -> tuple[ObservedJob, bytes] | None:
    record, kind = recordings.job_record(listed), recordings.kind(listed.kind)
    if kind is None:
        return None
    return dataclasses.replace(observed_job.observe(kind, record.object), deleted=listed.deleted), record.object
