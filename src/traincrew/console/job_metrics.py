"""The metrics of a job: what its replicas use, and the numbers in their output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traincrew.client.remote import RemoteClient
from traincrew.console import job_reader, log_requests
from traincrew.console.contract import metrics
from traincrew.console.job_reader import JobAddress
from traincrew.console.output_reader import OutputReader
from traincrew.console.usage_sampler import INTERVAL, UsageSampler
from traincrew.console.view import series
from traincrew.console.view.points import Counted

MAX_TRIED_LINES = 1000


class MetricsState(NamedTuple):
    usage: list[Counted[metrics.UsageSeries]]
    output: list[Counted[metrics.OutputSeries]]
    unavailable: str
    errors: list[str]
    is_finished: bool

    def message(self) -> metrics.JobMetrics:
        return metrics.JobMetrics(
            usage=[each.series for each in self.usage],
            output=[each.series for each in self.output],
            interval=INTERVAL,
            unavailable=self.unavailable,
            errors=self.errors,
        )


class JobMetricsReader:
    def __init__(self, client: RemoteClient, usage: UsageSampler, job: JobAddress, parameters: Mapping[str, str]) -> None:
        """Raise SettingsError if a parameter is not valid."""
        self._client, self.usage, self.job = client, usage, job
        pattern = parameters.get("pattern", "")
        parse = series.pattern(pattern) if pattern else series.parse
        self._output = OutputReader(client, parse, log_requests.parse(parameters))
        self._reads_output = parameters.get("output") != "0"

    async def read(self) -> MetricsState:
        found = await job_reader.read(self._client, self.job)
        await self.usage.sample(self.job)
        await self.usage.fill(self.job, found.observed.job.metadata.uid)
        if self._reads_output:
            await self._output.read(found)
        return MetricsState(
            self.usage.series(self.job, found.pods),
            self._output.series(),
            self.usage.unavailable(self.job),
            [*self.usage.errors(self.job), *self._output.errors()],
            found.observed.job.status.finished and not any(pod.active for pod in found.pods),
        )


def try_pattern(wanted: metrics.TryPattern) -> metrics.PatternMatches:
    parse = series.pattern(wanted.pattern) if wanted.pattern else series.parse
    matches = list[metrics.PatternMatch]()
    for number, line in enumerate(wanted.text.split("\n")[:MAX_TRIED_LINES], 1):
        found = parse(line)
        matches += [
            metrics.PatternMatch(line=number, name=name, value=series.finite(value), step=found.step)
            for name, value in found.values.items()
        ]
    return metrics.PatternMatches(matches=matches)
