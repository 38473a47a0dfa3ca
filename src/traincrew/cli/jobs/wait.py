"""Waits until jobs end: prints their logs, what they are waiting for, and their results."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
from collections.abc import AsyncIterator, Sequence

from traincrew.cli.jobs import hang_report, log_streams
from traincrew.cli.jobs.interrupts import InterruptChoice, Interrupted, Interrupts
from traincrew.cli.jobs.permanent_failure import PermanentFailureCheck
from traincrew.cli.jobs.terminal_output import TerminalOutput
from traincrew.cli.render import tables
from traincrew.client import clock
from traincrew.client.remote import RemoteClient
from traincrew.inspection import activity_query, failures, job_informer, observed_job, pod_waiting_reasons, replica_ends
from traincrew.model import naming, objects

STABLE = 0.3
"""Seconds for which a state must last before it is printed. Most states are shorter, and each one would print a line."""
LINGER = 1.0
"""Seconds that running replicas may still write when the job is finished. Some, like parameter servers, never exit."""
ANNOUNCED = 2.0
"""Seconds of printing after which the user learns that the jobs have finished: an interrupt then deletes nothing."""
DRAIN = 10.0
"""Seconds without a line of terminated containers after which their logs cannot be read."""


@dataclasses.dataclass
class WaitedJob:
    informer: job_informer.JobInformer
    logs: log_streams.LogStreams
    first_messages: dict[str, str] = dataclasses.field(default_factory=dict)
    """By backoff: its first message. Later messages differ only in the delay."""

    @property
    def reference(self) -> str:
        return self.informer.key.reference

    @property
    def finished(self) -> bool:
        job = self.informer.observe()
        return self.informer.deleted or (job is not None and job.job.status.finished)

    def state(self) -> str:
        if error := self.informer.error():
            return f"cannot watch the API server: {error}"
        job = self.informer.observe()
        return (pod_waiting_reasons.job_reason(job) or self.logs.error()) if job is not None and not self.finished else ""

    def backoff(self) -> str:
        job = self.informer.observe()
        return pod_waiting_reasons.backoff(job) if job is not None and not self.finished and not self.informer.error() else ""

    def never_started(self) -> str:
        """Replicas of a succeeded job that never started, which is rarely intended."""
        job = self.informer.observe()
        if job is None or job.state != "Succeeded":
            return ""
        started = {_replica_key(pod) for pod in self.informer.pods.values() if pod_waiting_reasons.started(pod)}
        missing = job.job.total - len(started)
        return f"; {missing} of {job.job.total} replicas never started" if missing > 0 else ""

    def still_running(self) -> str:
        """Replicas of a succeeded job that may still fail, which nobody would see. Those that are deleted were not needed."""
        job = self.informer.observe()
        if job is None or job.state != "Succeeded":
            return ""
        names = [job.replica(pod) for pod in job.pods if pod.active]
        subject = f"{pod_waiting_reasons.abbreviate(names)} {'is' if len(names) == 1 else 'are'}"
        return f"{subject} still running. Run `traincrew why {job.reference}` later to see what became of it." if names else ""

    async def linger(self) -> None:
        """Replicas end one after the other. The last lines of the others belong to the log of the job."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while any(not self.informer.pods[uid].finished for uid in self.informer.existing):
                    await self.informer.changed(self.informer.changes)

    def exit_code(self) -> int:
        job = self.informer.observe()
        return observed_job.exit_code(job.job.status) if job is not None and job.job.status.finished else 1


class JobWaiter:
    def __init__(
        self,
        client: RemoteClient,
        console: TerminalOutput,
        log_root: pathlib.Path | None,
        search: activity_query.HangSearch,
        failures: PermanentFailureCheck | None = None,
        time_limit: float | None = None,
    ) -> None:
        """failures: ends the wait for jobs that can never run. time_limit: seconds until the jobs have ended. None: no limit."""
        self._client, self._console, self._log_root, self._failures = client, console, log_root, failures
        self._time_limit = time_limit
        self._search = search
        self.jobs: list[WaitedJob] = []
        self._printed: set[str] = set()
        """States that are printed once: without a terminal, a backoff would print a line every few seconds."""

    async def wait(self, keys: Sequence[job_informer.JobKey], interrupts: Interrupts) -> int:
        """Return the exit code of the first failed job, else 0. Raise Interrupted, NeverRuns or TimeoutError before the jobs have
        finished. An interrupt after their end only ends the output."""
        async with contextlib.AsyncExitStack() as stack:
            waiting = asyncio.create_task(self._watch_until_finished(keys, stack))
            try:
                async with asyncio.timeout(self._time_limit):
                    await self._wait_or_interrupt(waiting, interrupts, keys)
            finally:
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
                self._console.state("")
            interrupted = await self._print_rest(interrupts)
        return interrupted or next((code for job in self.jobs if (code := job.exit_code())), 0)

    async def _print_rest(self, interrupts: Interrupts) -> int:
        """An interrupt ends a part of the output: the jobs have finished. Return the exit code of the last interrupt, else 0."""
        code = 0
        for part in (self._print_last_lines, self._print_results):
            try:
                await interrupts.cancel_on_signal(part())
            except Interrupted as interrupted:
                code = interrupted.exit_code
                commands = ", ".join(f"`traincrew logs {job.reference}`" for job in self.jobs)
                self._console.message(f"Interrupted. Run {commands} for all lines.")
        return code

    async def _print_last_lines(self) -> None:
        for job in self.jobs:
            await job.linger()
        announced = asyncio.get_running_loop().call_later(ANNOUNCED, self._announce_last_lines)
        try:
            for job in self.jobs:
                await job.logs.drain(DRAIN)
        finally:
            announced.cancel()
            self._console.state("")

    def _announce_last_lines(self) -> None:
        names = ", ".join(job.reference for job in self.jobs)
        self._console.state(f"{names} {'has' if len(self.jobs) == 1 else 'have'} ended: printing the rest of the logs")

    async def _watch_until_finished(self, keys: Sequence[job_informer.JobKey], stack: contextlib.AsyncExitStack) -> None:
        for key in keys:
            await stack.enter_async_context(self._watch(key, several=len(keys) > 1))
        await self._wait_until_finished()

    @contextlib.asynccontextmanager
    async def _watch(self, key: job_informer.JobKey, several: bool) -> AsyncIterator[None]:
        informer = job_informer.JobInformer(self._client, key)
        selection = log_streams.LogSelection(job=several)
        logs = log_streams.LogStreams(self._client, informer, self._console, selection, self._log_root)
        async with informer.started():
            logs.add_missed_pods()
            self.jobs.append(WaitedJob(informer, logs))
            hangs = hang_report.HangReport(self._client, self._search, informer, logs, self._console)
            tasks = [asyncio.create_task(logs.run()), asyncio.create_task(hangs.run())]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await logs.close()

    async def _wait_or_interrupt(
        self, waiting: asyncio.Task[None], interrupts: Interrupts, keys: Sequence[job_informer.JobKey]
    ) -> None:
        while not waiting.done():
            signalled = asyncio.ensure_future(interrupts.next())
            await asyncio.wait({waiting, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if not signalled.done():
                signalled.cancel()
                break
            finished = [job.reference for job in self.jobs if job.finished]
            jobs = ", ".join(key.reference for key in keys if key.reference not in finished)
            choice = await interrupts.ask(signalled.result(), jobs, self._console, waiting)
            if choice is not InterruptChoice.CONTINUE:
                raise Interrupted(choice, signalled.result())
        await waiting

    async def _wait_until_finished(self) -> None:
        previous = ""
        while not all(job.finished for job in self.jobs):
            seen = [job.informer.changes for job in self.jobs]
            state = "; ".join(filter(None, (self._state(job) for job in self.jobs)))
            if state == previous or not state:
                await self._check_failures()
                self._print_state(state)
            previous = state
            changes = [asyncio.ensure_future(job.informer.changed(since)) for job, since in zip(self.jobs, seen, strict=True)]
            # The timeout prints states that last, and notices errors of logs and watches, which are not changes.
            await asyncio.wait(changes, return_when=asyncio.FIRST_COMPLETED, timeout=STABLE)
            for each in changes:
                each.cancel()
            await asyncio.gather(*changes, return_exceptions=True)

    async def _check_failures(self) -> None:
        for job in self.jobs:
            if self._failures is not None and not job.finished:
                await self._failures.check(job.informer)

    def _print_state(self, state: str) -> None:
        if state in self._printed:
            return
        self._console.state(state)
        if state and not self._console.live and any(job.backoff() for job in self.jobs):
            self._printed.add(state)

    def _state(self, job: WaitedJob) -> str:
        state = job.state()
        if (backoff := job.backoff()) and not self._console.live:
            state = job.first_messages.setdefault(backoff, state)
        return f"{job.informer.key.name}: {state}" if state else ""

    async def _print_results(self) -> None:
        for waited in self.jobs:
            job = waited.informer.observe()
            if job is None or not job.job.status.finished:
                self._console.message(f"{waited.reference} was deleted before it finished")
                continue
            duration = tables.duration(job, clock.now())
            self._console.message(
                f"{job.reference} {job.state.lower()} after {duration}{await self._result(job)}{waited.never_started()}"
            )
            for line in filter(None, (failures.after_success(job, [*waited.informer.pods.values()]), waited.still_running())):
                self._console.message(f"  {line}")
            if job.state == "Failed":
                self._console.message(f"  Run `traincrew why {job.reference}` for details.")

    async def _result(self, job: observed_job.ObservedJob) -> str:
        """Why a job failed. The pods that are being deleted may have no log any more."""
        if job.state != "Failed":
            return ""
        ends = await replica_ends.read(self._client, job, self._log_root)
        message = failures.summary(job, ends)
        return f": {message}" if message else ""


def _replica_key(pod: objects.Pod) -> tuple[str, str]:
    """Role and index of the replica. A replacement of a pod has the same key."""
    labels = pod.metadata.labels
    return labels.get(naming.REPLICA_TYPE, ""), labels.get(naming.REPLICA_INDEX, "")
