"""Reads recorded jobs. The API server says first whether the user may, with the credentials of the user: also of deleted jobs."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import pathlib
from collections.abc import AsyncIterator, Callable, Iterable
from typing import NamedTuple, Protocol

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.console import access
from traincrew.console.opened_recordings import OpenedRecordings, is_opened
from traincrew.console.settings import ConsoleTarget
from traincrew.console.view import recordings
from traincrew.history import last_lines
from traincrew.history.opened_recording import OpenedRecording
from traincrew.history.recorded_reader import RecordedReader, StoredLogReader
from traincrew.history.recording_export import RunReader
from traincrew.history.records import JobQuery, JobRecord, JobScope, PodRecord, Recording, SampleRecord, StatusRecord
from traincrew.history.store import StoreAccess
from traincrew.history.stored_logs import RunLines, StoreLogs
from traincrew.inspection import log_files
from traincrew.kinds.kind import JobKind
from traincrew.model import resources
from traincrew.model.resources import Resource

NO_RECORDER = "no history is recorded for this cluster. Start it with `traincrew up` without --no-console"
NO_HISTORY = "this console has no history. Run `traincrew recorder` in the cluster, and the console with the same --history"
REVIEWS_AT_ONCE = 16
"""Questions to the API server about namespaces, for who may not read those of all."""


class RecordedLogs(StoredLogReader, RunReader, Protocol):
    """Reads logs for those who look at them, and for those who export them."""


class ReadableJobs(NamedTuple):
    jobs: list[JobRecord]
    truncated: bool
    """There are more that the user may get."""


class RecordedLog(NamedTuple):
    """The log of a container that the recorder has copied."""

    pod: PodRecord
    container: str
    lines: Callable[[pod_logs.PodLogOptions], AsyncIterator[list[pod_logs.PodLogLine]]]


class ReadableRecording(NamedTuple):
    kind: JobKind
    recording: Recording
    """Without what the user may not read."""
    reader: RecordedReader
    logs: RecordedLogs
    unreadable: list[str]
    file: OpenedRecording | None = None
    """The recording file that it was read from."""


def missing(history: StoreAccess | None, *, embedded: bool) -> str:
    """Why a console has no history. Empty: it has one."""
    if history is not None:
        return ""
    return NO_RECORDER if embedded else NO_HISTORY


class HistoryReader:
    def __init__(self, client: RemoteClient, target: ConsoleTarget, opened: OpenedRecordings) -> None:
        self._opened = opened
        self._client, self._log_root = client, pathlib.Path(target.log_root) if target.log_root else None
        self._recorded, self._is_embedded = target.history, target.embedded

    @property
    def _thread(self) -> StoreAccess:
        """Raise SettingsError if nothing is recorded."""
        if self._recorded is None:
            raise errors.SettingsError(missing(None, embedded=self._is_embedded))
        return self._recorded

    async def jobs(self, query: JobQuery) -> ReadableJobs:
        """Those that the user may get."""
        readable = await self._readable(await self._thread.call(lambda store: store.scopes(query)))
        wanted = dataclasses.replace(query, scopes=readable, limit=query.limit + 1)
        found = await self._thread.call(lambda store: store.jobs(wanted))
        return ReadableJobs(found[: query.limit], len(found) > query.limit)

    async def _readable(self, scopes: Iterable[JobScope]) -> tuple[JobScope, ...]:
        """The kinds and namespaces whose jobs the user may get."""
        by_kind: dict[str, list[JobScope]] = {}
        for scope in scopes:
            by_kind.setdefault(scope.kind, []).append(scope)
        allowed = [
            scope
            for singular, found in sorted(by_kind.items())
            if (kind := recordings.kind(singular)) is not None
            for scope in await self._readable_of_kind(kind, found)
        ]
        return tuple(allowed)

    async def _readable_of_kind(self, kind: JobKind, scopes: list[JobScope]) -> list[JobScope]:
        if await access.review(self._client, "get", kind.resource, ""):
            return scopes
        turns = asyncio.Semaphore(REVIEWS_AT_ONCE)

        async def may_get(scope: JobScope) -> bool:
            async with turns:
                return await access.review(self._client, "get", kind.resource, scope.namespace)

        allowed = await asyncio.gather(*map(may_get, scopes))
        return [scope for scope, may in zip(scopes, allowed, strict=True) if may]

    async def read(self, uid: str) -> ReadableRecording:
        """uid: of a recorded job, or of an opened recording file. Raise NoJob, Forbidden, StoreError."""
        if is_opened(uid):
            return await of_file(self._opened.get(uid))
        kind, _ = await self._require_job(uid)
        found = await self._thread.call(lambda store: store.recording(uid))
        if found is None:
            raise errors.NoJob("the job was removed from the history just now")
        return await self._readable_part(kind, found)

    async def statuses(self, uid: str) -> list[StatusRecord]:
        """The oldest first. Raise NoJob, Forbidden, StoreError."""
        if is_opened(uid):
            return list((await self._opened.get(uid).read()).statuses)
        await self._require_job(uid)
        return await self._thread.call(lambda store: store.statuses(uid))

    async def samples(self, uid: str) -> dict[str, list[SampleRecord]]:
        """By the name of the pod. Raise NoJob, Forbidden, StoreError."""
        _, job = await self._require_job(uid)
        await self._require(resources.PODS, job)
        return await self._thread.call(lambda store: store.samples(uid))

    async def logs(self, uid: str) -> list[RecordedLog]:
        """The copied logs of the pods of a job, the oldest first. Raise NoJob, Forbidden, StoreError."""
        _, job = await self._require_job(uid)
        await self._require(resources.PODS, job)
        await self._require(resources.PODS, job, "log")
        found, stored = await self._thread.call(lambda store: store.logged_containers(uid)), StoreLogs(self._thread)
        return [RecordedLog(pod, container, functools.partial(stored.lines, pod, container)) for pod, container in found]

    async def _require_job(self, uid: str) -> tuple[JobKind, JobRecord]:
        """A job that the user may get."""
        jobs = await self._thread.call(lambda store: store.jobs(JobQuery(uid=uid)))
        kind = recordings.kind(jobs[0].kind) if jobs else None
        if not jobs or kind is None:
            raise errors.NoJob("the history has no such job: it was never recorded, or it is older than the history")
        await self._require(kind.resource, jobs[0])
        return kind, jobs[0]

    async def _readable_part(self, kind: JobKind, found: Recording) -> ReadableRecording:
        pods, events, logs = await asyncio.gather(
            self._objection(resources.PODS, found.job),
            self._objection(resources.EVENTS, found.job, "list"),
            self._objection(resources.PODS, found.job, "get", "log"),
        )
        unreadable = {resources.PODS: pods, resources.EVENTS: events}
        refused = {resource: each for resource, each in unreadable.items() if each is not None}
        readable = Recording(
            found.job,
            found.statuses,
            found.pods if pods is None else (),
            found.events if events is None else (),
            found.samples if pods is None else (),
        )
        source = _LogSource(found.job.namespace, self._log_root, StoreLogs(self._thread), logs)
        words = [each.message for each in (pods, events, logs) if each is not None]
        return ReadableRecording(kind, readable, RecordedReader(readable, source, refused), source, words)

    async def _require(self, resource: Resource, job: JobRecord, subresource: str = "") -> None:
        if (objection := await self._objection(resource, job, "get", subresource)) is not None:
            raise objection

    async def _objection(
        self, resource: Resource, job: JobRecord, verb: str = "get", subresource: str = ""
    ) -> errors.Forbidden | None:
        """As the API server words it. An API server that does not respond is no permission: its error is raised."""
        if await access.review(self._client, verb, resource, job.namespace, subresource):
            return None
        user, path = await access.user_name(self._client), "/".join(filter(None, (resource.plural, subresource)))
        plural = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        return errors.Forbidden(
            f'{plural} is forbidden: User "{user}" cannot {verb} resource "{path}" in API group "{resource.group}" in the '
            f'namespace "{job.namespace}"',
            code=403,
            reason="Forbidden",
        )


async def of_file(file: OpenedRecording) -> ReadableRecording:
    """Whoever has the file may read it."""
    kind, found = recordings.kind(file.job.kind), await file.read()
    assert kind is not None  # it is checked when the file is opened
    return ReadableRecording(kind, found, RecordedReader(found, file.logs, {}), file.logs, list(file.missing), file)


class _LogSource:
    """The files of this machine, else the store."""

    def __init__(self, namespace: str, root: pathlib.Path | None, stored: StoreLogs, refused: errors.Forbidden | None) -> None:
        self._namespace, self._root, self._stored, self._refused = namespace, root, stored, refused

    async def lines(
        self, pod: PodRecord, container: str, wanted: pod_logs.PodLogOptions
    ) -> AsyncIterator[list[pod_logs.PodLogLine]]:
        if self._refused is not None:
            raise self._refused
        position = pod_logs.ContainerReference(self._namespace, pod.name, container)
        if self._root is not None and log_files.newest(self._root, position, pod.uid) is not None:
            complete = log_files.lines(self._root, position, pod.uid, dataclasses.replace(wanted, tail=None))
            batches = last_lines.of_log(complete, wanted.tail)
        else:
            batches = self._stored.lines(pod, container, wanted)
        async for batch in batches:
            yield batch

    async def runs(self, pod: PodRecord, container: str) -> AsyncIterator[RunLines]:
        if self._refused is not None:
            raise self._refused
        position = pod_logs.ContainerReference(self._namespace, pod.name, container)
        if self._root is not None and log_files.newest(self._root, position, pod.uid) is not None:
            async for run, lines in log_files.runs(self._root, position, pod.uid):
                yield RunLines(run, lines)
            return
        async for batch in self._stored.runs(pod, container):
            yield batch
