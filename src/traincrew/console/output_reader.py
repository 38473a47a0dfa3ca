"""Reads the output of the replicas of a job, as much as is new, and collects the numbers in it."""

from __future__ import annotations

import asyncio
import dataclasses

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.client.interfaces import LogReader
from traincrew.console.contract.metrics import OutputSeries
from traincrew.console.job_reader import ReadJob
from traincrew.console.log_requests import LogRequest
from traincrew.console.view import series
from traincrew.console.view.points import Counted, Points
from traincrew.inspection import observed_job
from traincrew.model import objects

FIRST_LINES = 20_000
"""Lines of each log that are read at first."""
MAX_REPLICAS = 8
"""Replicas whose output is read, unless the page asks for others: their numbers differ little."""
MAX_SERIES, MAX_POINTS = 400, 2000
MAX_LINE = 4096
"""Bytes of a line that are read."""


@dataclasses.dataclass
class _Log:
    position: pod_logs.LogPosition = dataclasses.field(default_factory=pod_logs.LogPosition)
    is_complete: bool = False
    error: str = ""


@dataclasses.dataclass
class _Series:
    points: Points[tuple[float, float | None]] = dataclasses.field(default_factory=lambda: Points(MAX_POINTS))
    line: str = ""


class OutputReader:
    def __init__(self, client: LogReader, parse: series.Parse, request: LogRequest) -> None:
        self._client, self._parse, self._request = client, parse, request
        self._logs: dict[tuple[str, str], _Log] = {}
        self._series: dict[tuple[str, str], _Series] = {}
        self._replicas: dict[str, None] = {}
        """In the order of the job, not in that of their first lines."""

    async def read(self, found: ReadJob) -> None:
        """Read what is new."""
        selected = self._selected(found)
        self._replicas |= dict.fromkeys(found.observed.replica(pod) for pod in selected)
        await asyncio.gather(*(self._read_pod(found, pod) for pod in selected))

    def errors(self) -> list[str]:
        return sorted({log.error for log in self._logs.values() if log.error})

    def series(self) -> list[Counted[OutputSeries]]:
        replicas = list(self._replicas)
        ordered = sorted(self._series.items(), key=lambda item: replicas.index(item[0][0]))
        return [Counted(_message(*key, each), each.points.thinned) for key, each in ordered]

    def _selected(self, found: ReadJob) -> list[objects.Pod]:
        observed = found.observed
        if self._request.replicas:
            return [pod for pod in observed.pods if self._request.selects(observed.replica(pod))]
        silent = [role.label for role in observed.kind.roles if not role.prints]
        return [pod for pod in observed.pods if not any(observed_job.matches(observed.replica(pod), label) for label in silent)][
            :MAX_REPLICAS
        ]

    async def _read_pod(self, found: ReadJob, pod: objects.Pod) -> None:
        container = self._request.container or found.observed.training_container(pod)
        log = self._logs.setdefault((pod.metadata.uid, container), _Log())
        if log.is_complete or not container or pod.status.phase == "Pending":
            return
        wanted = pod_logs.PodLogOptions(since=log.position.since(), max_line=MAX_LINE)
        if not log.position.last:
            wanted = pod_logs.PodLogOptions(tail=FIRST_LINES, max_line=MAX_LINE)
        resumed, replica = pod_logs.Resumed(log.position), found.observed.replica(pod)
        try:
            async for batch in pod_logs.lines(self._client, _position(pod, container), wanted):
                for line in batch:
                    if resumed.is_new(line):
                        log.position.took(line)
                        self._add(replica, line)
            log.error, log.is_complete = "", pod.finished
        except errors.ApiError as error:
            log.error = f"{replica}: {error.message}"

    def _add(self, replica: str, line: pod_logs.PodLogLine) -> None:
        text = line.text.decode("utf-8", "replace")
        reading = self._parse(text)
        for name, value in reading.values.items():
            key = (replica, name)
            if key in self._series or len(self._series) < MAX_SERIES:
                kept = self._series.setdefault(key, _Series())
                kept.points.add(line.nanoseconds // 1_000_000, (value, reading.step))
                kept.line = series.shown(text)[:300]


def _position(pod: objects.Pod, container: str) -> pod_logs.ContainerReference:
    return pod_logs.ContainerReference(pod.metadata.namespace, pod.name, container)


def _message(replica: str, name: str, kept: _Series) -> OutputSeries:
    return OutputSeries(
        name=name,
        replica=replica,
        times=list(kept.points.times),
        values=[series.finite(value) for value, _ in kept.points.values],
        steps=[series.finite(step) if step is not None else None for _, step in kept.points.values],
        line=kept.line,
    )
