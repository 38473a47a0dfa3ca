"""Says that a job that `run` waits for seems to hang, or has failed in a replica that does not exit, and when output resumes."""

from __future__ import annotations

import asyncio
import dataclasses

from traincrew.cli.jobs.log_streams import LogStreams
from traincrew.cli.jobs.terminal_output import TerminalOutput
from traincrew.client import clock
from traincrew.client.remote import RemoteClient
from traincrew.diagnosis import hang, last_exception
from traincrew.inspection import activity_query, advice, job_informer, last_exceptions, observed_job, worker_restarts
from traincrew.model.meta import Time

SEARCHES = 8
"""Searches in the time after which a replica that differs is reported."""
MIN_SECONDS, MAX_SECONDS = 0.5, 15.0
"""Between two searches."""


@dataclasses.dataclass
class HangReport:
    """Of one job. A hang is reported until the search finds none and a replica has printed a line since."""

    client: RemoteClient
    search: activity_query.HangSearch
    informer: job_informer.JobInformer
    logs: LogStreams
    console: TerminalOutput
    _is_reported: bool = False
    _last_output: Time | None = None
    """The last line before the report."""
    _examined: Time | None = None
    """The last line when the logs were searched for an exception."""
    _searched: Time | None = None
    """The last line when the logs were searched for restarts of torchrun."""
    _restarts: int = 0
    """The restarts that were reported last."""

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await asyncio.sleep(_interval(self.search.limits))
            await self.update()

    async def update(self) -> None:
        job = self.informer.observe()
        # Without a connection nothing is known about the output.
        if job is None or job.job.status.finished or self.informer.error() or self.logs.error():
            return
        await self._report_exception(job)
        await self._report_restarts(job)
        # The stacks are read until a hang is found: reading them stops the processes for a moment.
        read_stack = None if self._is_reported else self.search.read_stack
        search = dataclasses.replace(self.search, printed=self.logs.last_output, read_stack=read_stack)
        found, last_output = (await activity_query.examine(self.client, job, search)).hang, self.logs.latest_output()
        if found is not None and not self._is_reported:
            self._is_reported, self._last_output = True, last_output
            self.console.message(f"{job.job.name}: {found.message}. {advice.on_hang(job.reference, self.search.install)}")
        elif found is None and self._is_reported and last_output != self._last_output:
            self._is_reported = False
            self.console.message(f"{job.job.name}: output has resumed")

    async def _report_exception(self, job: observed_job.ObservedJob) -> None:
        """Once after each pause in the output: mpirun, for example, waits for the other ranks after the exception of one."""
        last_output, now = self.logs.latest_output(), clock.now()
        if last_output is None or last_output == self._examined or now - last_output < last_exception.QUIET:
            return
        self._examined = last_output
        for each in (await last_exceptions.read(self.client, job))[:1]:
            self.console.message(f"{job.job.name}: {each.sentence(now)}. {advice.on_unfinished(job.reference)}")

    async def _report_restarts(self, job: observed_job.ObservedJob) -> None:
        """Each further restart, which fills the log with the same exception and no word about the job."""
        last_output = self.logs.latest_output()
        if last_output is None or last_output == self._searched:
            return
        self._searched = last_output
        found = await worker_restarts.read(self.client, job)
        if found is not None and found.found.count > self._restarts:
            self._restarts = found.found.count
            self.console.message(f"{job.job.name}: {found.sentence}. Run `traincrew why {job.reference}` for details.")


def _interval(limits: hang.HangLimits) -> float:
    return min(MAX_SECONDS, max(MIN_SECONDS, min(limits.one_differs, limits.all_silent).total_seconds() / SEARCHES))
