"""Which logs of a job a request selects: those of pods that exist, and those that are kept of deleted ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from traincrew.client import pod_logs
from traincrew.client.interfaces import LogReader
from traincrew.console import job_reader
from traincrew.console.contract.logs import LogSource
from traincrew.console.log_requests import LogRequest
from traincrew.console.stored_logs import StoredLog, StoredLogs
from traincrew.console.view import log_lines, log_sources
from traincrew.inspection import container_runs, observed_job
from traincrew.model import objects


class LogAccess(NamedTuple):
    client: LogReader
    stored: StoredLogs
    tails: bool = True
    """Whether the client finds the last lines of a log by itself, as a kubelet does. Else all lines are read for them."""


@dataclasses.dataclass
class Log:
    """A log to read, how far it was read, and why it cannot be read."""

    pod: objects.Pod
    source: log_lines.Source
    stored: StoredLog | None = None
    """The pod is deleted."""
    position: pod_logs.LogPosition = dataclasses.field(default_factory=pod_logs.LogPosition)
    error: str = ""
    complete: bool = False
    """It was read to its present end."""

    @property
    def over(self) -> bool:
        """No line will follow."""
        return self.stored is not None or container_runs.is_last(self.pod, self.source.container)

    def message(self) -> LogSource:
        return log_sources.message(self.pod, self.source, self.error, ended=True if self.stored is not None else None)


async def of_job(access: LogAccess, job: job_reader.JobAddress, request: LogRequest) -> list[Log]:
    """Those of deleted pods first."""
    found = await job_reader.read(access.client, job)
    deleted = await of_deleted(access, found.observed, (pod.metadata.uid for pod in found.pods), request)
    return deleted + of_pods(found.observed, request)


async def of_deleted(
    access: LogAccess, found: observed_job.ObservedJob, existing: Iterable[str], request: LogRequest
) -> list[Log]:
    return [
        Log(each.pod, log_lines.Source(found.replica(each.pod), each.container), each)
        for each in await access.stored.of_job(found.kind, found, existing)
        if request.selects(found.replica(each.pod)) and request.container in ("", each.container)
    ]


def of_pods(found: observed_job.ObservedJob, request: LogRequest) -> list[Log]:
    return [
        Log(pod, log_lines.Source(found.replica(pod), container))
        for pod in found.pods
        if request.selects(found.replica(pod))
        for container in log_sources.containers(found.kind, pod, request.container)
    ]
