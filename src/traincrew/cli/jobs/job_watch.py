"""`traincrew ls -w`: on a terminal a table that is kept current, else a line for each change."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import sys
from collections.abc import AsyncIterator, Sequence

from traincrew.cli import cluster_target
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.jobs import hang_search, interrupts, live_screen, query
from traincrew.cli.jobs.job_selection import JobSelection
from traincrew.cli.render import serialization, tables, terminal
from traincrew.client import clock
from traincrew.client.remote import RemoteClient
from traincrew.inspection import activity_query, job_list_informer, observed_job

REFRESH_SECONDS = 1.0
"""Ages grow while nothing changes."""
QUIET_SECONDS = 3600.0
HANG_SECONDS = 5.0


@dataclasses.dataclass(frozen=True)
class WatchRequest:
    form: str
    selection: JobSelection
    hang: HangOptions


async def watch(request: WatchRequest, target_options: cluster_target.TargetOptions) -> int:
    """Return the exit code when the user interrupts."""
    async with query.connected(target_options) as (client, target):
        namespace = request.selection.namespace(target.namespace)
        if namespace is not None:
            await query.require_namespace(client, namespace)
        search = hang_search.for_target(request.hang, target, logs=False)
        jobs = WatchedJobs(client, namespace, search, request.selection)
        caught = interrupts.Interrupts()
        with caught.caught(), contextlib.suppress(interrupts.Interrupted):
            await caught.cancel_on_signal(_watch(jobs, request))
    return 0


class WatchedJobs:
    """The jobs as the informer has them, with the hangs as the metrics of the nodes show them."""

    def __init__(
        self, client: RemoteClient, namespace: str | None, search: activity_query.HangSearch, selection: JobSelection
    ) -> None:
        self._client, self._namespace, self._search, self._selection = client, namespace, search, selection
        self.informer = job_list_informer.JobListInformer(client, namespace)
        self._hangs: dict[str, str] = {}
        """By UID of the job."""

    def all(self) -> list[tuple[observed_job.ObservedJob, bytes]]:
        """The newest last."""
        chosen = {job.job.metadata.uid: (job, raw) for job, raw in self.informer.jobs() if self._selection.includes(job)}
        found = [chosen[job.job.metadata.uid] for job in query.sort_by_creation(job for job, _ in chosen.values())]
        return [(dataclasses.replace(job, hang=self._hangs.get(job.job.metadata.uid, "")), raw) for job, raw in found]

    @contextlib.asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        async with self.informer.started():
            searching = asyncio.create_task(self._search_hangs())
            try:
                yield
            finally:
                searching.cancel()
                await asyncio.gather(searching, return_exceptions=True)

    async def _search_hangs(self) -> None:
        while True:
            jobs = [job for job, _ in self.informer.jobs()]
            found = await activity_query.with_hangs(self._client, jobs, self._search, self._namespace)
            hangs = {job.job.metadata.uid: job.hang for job in found if job.hang}
            if hangs != self._hangs:
                self._hangs = hangs
                self.informer.notify()
            await asyncio.sleep(HANG_SECONDS)


async def _watch(jobs: WatchedJobs, request: WatchRequest) -> None:
    live = live_screen.available() and request.form in ("text", "wide")
    async with jobs.started():
        if live:
            await live_screen.run(_page(jobs, request), lambda: jobs.informer.changed(REFRESH_SECONDS))
        else:
            await _print_changes(jobs, request)


def _page(watched: WatchedJobs, request: WatchRequest) -> live_screen.Draw:
    def draw(columns: int, lines: int) -> str:
        jobs = [job for job, _ in watched.all()]
        namespaces = request.selection.all_namespaces
        text = tables.jobs(jobs, clock.now(), namespaces=namespaces, columns=columns) if jobs else "No jobs."
        error = watched.informer.error()
        # The newest jobs are at the end.
        head, *rows = terminal.page(text).splitlines()
        shown = [head, *rows[-max(lines - 3, 1) :]]
        return "\n".join([*shown, *([f"cannot watch the API server: {error}"] if error else [])])

    return draw


async def _print_changes(watched: WatchedJobs, request: WatchRequest) -> None:
    printer = ChangePrinter(request, watched.all())
    while True:
        for job, raw in watched.all():
            printer.print(job, raw)
        sys.stdout.flush()
        await watched.informer.changed(QUIET_SECONDS)


class ChangePrinter:
    def __init__(self, request: WatchRequest, jobs: Sequence[tuple[observed_job.ObservedJob, bytes]]) -> None:
        """jobs: those that exist. The columns are as wide as they need, and stay so."""
        self._form, self._namespaces = request.form, request.selection.all_namespaces
        self._printed: dict[str, object] = {}
        """By UID: what was printed last, without the times that change by themselves."""
        self._widths = tables.watched_widths([self._cells(job) for job, _ in jobs], namespaces=self._namespaces)

    def _cells(self, job: observed_job.ObservedJob) -> list[str]:
        return tables.job_cells(job, clock.now(), namespaces=self._namespaces)

    def print(self, job: observed_job.ObservedJob, raw: bytes) -> None:
        """Print the job if it has changed."""
        cells = self._cells(job)
        documents = self._form in ("json", "yaml")
        state = job.job.metadata.resource_version if documents else tables.without_times(cells)
        if self._printed.get(job.job.metadata.uid) == state:
            return
        if not self._printed and self._form in ("text", "wide"):
            terminal.echo(tables.aligned(tables.job_head(namespaces=self._namespaces), self._widths))
        self._printed[job.job.metadata.uid] = state
        if documents:
            terminal.echo_unchanged(serialization.list_entry(json.loads(raw), self._form), nl=False)
        elif self._form == "name":
            terminal.echo(serialization.name(json.loads(raw)))
        else:
            terminal.echo(tables.aligned(cells, self._widths))
