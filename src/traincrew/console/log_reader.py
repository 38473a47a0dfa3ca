"""Reads the logs of all replicas of a job, merged by time, to their present end."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator
from typing import NamedTuple

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.client.interfaces import LogReader
from traincrew.console import job_reader
from traincrew.console.contract.logs import LogLine, LogPage, LogSource
from traincrew.console.log_requests import LogRequest
from traincrew.console.stored_logs import StoredLog, StoredLogs
from traincrew.console.view import log_lines, log_sources
from traincrew.inspection import log_merge
from traincrew.model import objects


class LogAccess(NamedTuple):
    client: LogReader
    stored: StoredLogs


@dataclasses.dataclass
class Log:
    """A log to read, and why it cannot be read."""

    pod: objects.Pod
    source: log_lines.Source
    stored: StoredLog | None = None
    """The pod is deleted."""
    error: str = ""

    def message(self) -> LogSource:
        return log_sources.message(self.pod, self.source, self.error, ended=True if self.stored is not None else None)


async def logs(reader: LogAccess, job: job_reader.JobAddress, request: LogRequest) -> list[Log]:
    """Those of deleted pods first."""
    found = await job_reader.read(reader.client, job)
    stored = await reader.stored.of_job(job.kind, found.observed, (pod.metadata.uid for pod in found.pods))
    deleted = [
        Log(each.pod, log_lines.Source(found.observed.replica(each.pod), each.container), each)
        for each in stored
        if request.selects(found.observed.replica(each.pod)) and request.container in ("", each.container)
    ]
    return deleted + [
        Log(pod, log_lines.Source(found.observed.replica(pod), container))
        for pod in found.observed.pods
        if request.selects(found.observed.replica(pod))
        for container in log_sources.containers(job.kind, pod, request.container)
    ]


async def lines(reader: LogAccess, selected: list[Log], request: LogRequest) -> AsyncIterator[tuple[LogLine, bytes]]:
    """The lines that match, and their complete texts."""
    numbers = [log_lines.Numbering() for _ in selected]
    sources = [_read(reader, log, request) for log in selected]
    async for index, batch in log_merge.merge(sources):
        for line in batch:
            sequence = numbers[index].next(line.nanoseconds)
            found = log_lines.message(selected[index].source, sequence, line.nanoseconds, line.text)
            if request.lines.matches(found):
                yield found, line.text


async def _read(reader: LogAccess, log: Log, request: LogRequest) -> AsyncGenerator[list[pod_logs.PodLogLine], None]:
    if log.stored is not None:
        async for batch in reader.stored.lines(log.stored, request.options()):
            yield batch
        return
    position = pod_logs.ContainerReference(log.pod.metadata.namespace, log.pod.name, log.source.container)
    try:
        async with contextlib.aclosing(pod_logs.lines(reader.client, position, request.options())) as batches:
            async for batch in batches:
                yield batch
    except errors.ApiError as error:
        log.error = error.message


async def page(reader: LogAccess, job: job_reader.JobAddress, request: LogRequest) -> LogPage:
    selected = await logs(reader, job, request)
    last: collections.deque[LogLine] = collections.deque(maxlen=request.limit)
    matches = 0
    async for line, _ in lines(reader, selected, request):
        matches += 1
        last.append(line)
    return LogPage(lines=list(last), sources=[log.message() for log in selected], truncated=matches > len(last), matches=matches)
