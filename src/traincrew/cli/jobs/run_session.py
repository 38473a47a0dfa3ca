"""A session of `traincrew run`: submits objects, waits for the jobs and deletes them on request."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import (
    action_report,
    command_files,
    deletion,
    permanent_failure,
    pod_environment,
    query,
    unmanaged_objects,
    unmapped_images,
)
from traincrew.cli.jobs.interrupts import InterruptChoice, Interrupted, Interrupts
from traincrew.cli.jobs.run_options import RunOptions
from traincrew.cli.jobs.submit import CreatedObject, Submission
from traincrew.cli.jobs.terminal_output import TerminalOutput
from traincrew.cli.local_cluster import unenforced_limits
from traincrew.client.remote import RemoteClient
from traincrew.embedded import data_directory
from traincrew.inspection import manifests

if TYPE_CHECKING:
    from traincrew.inspection import job_informer

DELETION_TIMEOUT = 60.0
"""Seconds to wait for the pods to terminate after Ctrl-C."""
TIMEOUT_EXIT_CODE = 124
"""As timeout(1)."""


async def run(
    wanted: Sequence[manifests.ManifestObject],
    target_options: cluster_target.TargetOptions,
    options: RunOptions,
    console: TerminalOutput,
) -> int:
    """Submit the objects and return the exit code of the jobs."""
    async with query.connected(target_options) as (client, target):
        await unmanaged_objects.reject_if_embedded(wanted, client)
        interrupts = Interrupts()
        with interrupts.caught():
            await asyncio.sleep(0)  # ends here after an earlier Ctrl-C, when nothing is created yet
            session = RunSession(client, target, Submission(client, target.namespace, console.message), console, interrupts)
            return await session.run(wanted, options)


@dataclasses.dataclass(frozen=True)
class RunSession:
    """An interrupt at any time after the first request deletes what the session created."""

    client: RemoteClient
    target: cluster_target.ClusterTarget
    submission: Submission
    console: TerminalOutput
    interrupts: Interrupts

    async def run(self, wanted: Sequence[manifests.ManifestObject], options: RunOptions) -> int:
        if self.target.local is not None:
            _reject_hidden_files(wanted, self.target.local)
            images = unmapped_images.ImageEnvironments(options.environment, self.target.local, self.console.message)
            wanted = images.assign(wanted)
            for line in _unenforced_limits(wanted, self.target.local):
                self.console.message(line)
        try:
            created = await self.interrupts.cancel_on_signal(self.submission.submit(wanted, replace=options.replace))
            return await self._follow([entry for entry in created if entry.wanted.job is not None], options)
        except TimeoutError:
            self.console.message(f"Not finished after {options.timeout} (--timeout).")
            await self._delete()
            return TIMEOUT_EXIT_CODE
        except permanent_failure.NeverRuns as failure:
            self.console.message(f"{failure}. Use --wait-forever to wait nevertheless.")
            await self._delete()
            return 1
        except Interrupted as interrupted:
            if interrupted.choice is InterruptChoice.DETACH:
                _print_next_steps(self._jobs(), self.console)
                return 0
            await self._delete(await self._finished())
            return interrupted.exit_code

    async def _follow(self, jobs: list[CreatedObject], options: RunOptions) -> int:
        if options.detach or not jobs:
            if options.form:
                await self._print_jobs(jobs, options.form)
            _print_next_steps(jobs, self.console)
            return 0
        # Imported after the submission: the import takes time, in which the cluster works.
        from traincrew.cli.jobs import hang_search, wait

        local = self.target.local is not None and bool((self.target.local.running() or {}).get("node"))
        failures = None if options.wait_forever else permanent_failure.PermanentFailureCheck(self.client, local)
        search = hang_search.for_target(options.hang, self.target)
        waiter = wait.JobWaiter(self.client, self.console, self.target.log_root, search, failures, options.timeout_seconds)
        try:
            code = await waiter.wait([_key(job) for job in jobs], self.interrupts)
        except BrokenPipeError:
            self.console.message("Output closed. The job keeps running.")
            return 0
        if options.remove:
            await self._delete()
        return code

    async def _print_jobs(self, jobs: Sequence[CreatedObject], form: str) -> None:
        """On standard output, for the next command."""
        report = action_report.ActionReport(form)
        for job in jobs:
            report.add("", await self.client.get(job.key.resource, job.key.namespace, job.key.name))
        report.close()

    def _jobs(self) -> list[CreatedObject]:
        return [created for created in self.submission.created if created.wanted.job is not None]

    async def _finished(self) -> list[CreatedObject]:
        """The jobs that have finished by now, as during a question. Those that cannot be read count as unfinished."""
        found = []
        for created in self._jobs():
            assert created.wanted.job is not None
            with contextlib.suppress(errors.ApiError, errors.TemporaryError):
                raw = await self.client.get(created.key.resource, created.key.namespace, created.key.name)
                job = deletion.identify(created.wanted.job, raw)
                found += [created] if job.finished and job.uid == created.uid else []
        return found

    async def _delete(self, finished: Sequence[CreatedObject] = ()) -> None:
        """Delete the created objects, and wait until the jobs and their pods are deleted."""
        if not self.submission.created and not self.submission.uncertain:
            self.console.message("Interrupted. Nothing was created.")
            return
        for key in self.submission.uncertain:
            self.console.message(f"The API server did not respond to the creation of {key}. {key.may_exist()}")
        found = await self.submission.rollback(finished)
        for message in found.messages():
            self.console.message(message)
        await self._wait_until_deleted([created for created in found.deleted if created.wanted.job is not None])
        for created in found.kept:
            kept = "and its data are kept" if created.wanted.job is None else "has finished and is kept"
            self.console.message(f"{created.key} {kept}.")

    async def _wait_until_deleted(self, jobs: Sequence[CreatedObject]) -> None:
        """A further signal ends the wait."""
        try:
            async with asyncio.timeout(DELETION_TIMEOUT):
                await self.interrupts.cancel_on_signal(self._jobs_deleted(jobs))
        except TimeoutError:
            self.console.message(
                f"The pods are still terminating after {DELETION_TIMEOUT:.0f} s. They are deleted in the background."
            )
        except Interrupted:
            self.console.message("The pods are still terminating. They are deleted in the background.")

    async def _jobs_deleted(self, jobs: Sequence[CreatedObject]) -> None:
        for created in jobs:
            assert created.wanted.job is not None
            job = deletion.JobIdentity(created.wanted.job, created.key.namespace or "", created.key.name, created.uid)
            with contextlib.suppress(errors.TemporaryError):
                await deletion.wait_until_deleted(self.client, job)


def _reject_hidden_files(wanted: Sequence[manifests.ManifestObject], local: data_directory.DataDirectory) -> None:
    for each in wanted:
        if each.job is not None and not each.location.startswith(unmapped_images.GENERATED):
            command_files.reject_hidden_in_pods(pod_environment.pod_specs(each.document, each.job), local)


def _unenforced_limits(wanted: Sequence[manifests.ManifestObject], local: data_directory.DataDirectory) -> list[str]:
    jobs = [(each.document, each.job) for each in wanted if each.job is not None]
    specs = [spec for document, kind in jobs for spec in pod_environment.pod_specs(document, kind)]
    return unenforced_limits.of_pods(local.running() or {}, specs)


def _key(created: CreatedObject) -> job_informer.JobKey:
    from traincrew.inspection import job_informer

    assert created.wanted.job is not None
    return job_informer.JobKey(created.wanted.job, created.key.namespace or "", created.key.name, created.uid)


def _print_next_steps(jobs: Sequence[CreatedObject], console: TerminalOutput) -> None:
    for job in jobs:
        console.message(
            f"{job.key} keeps running. Run `traincrew logs -f {job.key}` to follow it, `traincrew delete {job.key}` to delete it."
        )
