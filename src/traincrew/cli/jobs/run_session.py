"""A session of `traincrew run`: submits objects, waits for the jobs and deletes them on request."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import deletion, manifests, query, unmanaged_objects, unmapped_images
from traincrew.cli.jobs.console import Console
from traincrew.cli.jobs.interrupts import InterruptChoice, Interrupts
from traincrew.cli.jobs.run_job import RunOptions
from traincrew.cli.jobs.submit import CreatedObject, Submission
from traincrew.client.remote import RemoteClient

if TYPE_CHECKING:
    from traincrew.cli.jobs import job_informer

DELETION_TIMEOUT = 60.0
"""Seconds to wait for the pods to terminate after Ctrl-C."""


async def run(
    wanted: Sequence[manifests.ManifestObject],
    target_options: cluster_target.TargetOptions,
    options: RunOptions,
    console: Console,
) -> int:
    """Submit the objects and return the exit code of the jobs."""
    async with query.connected(target_options) as (client, target):
        await unmanaged_objects.reject_if_embedded(wanted, client)
        submission = Submission(client, target.namespace, console.message)
        created = await submission.submit(wanted, replace=options.replace)
        jobs = [entry for entry in created if entry.wanted.job is not None]
        if target.local is not None:
            for warning in unmapped_images.warnings((entry.wanted for entry in jobs), target.local):
                console.message(warning)
        if options.detach or not jobs:
            _print_next_steps(jobs, console)
            return 0
        return await RunSession(client, target, submission, console).wait(jobs, remove=options.remove)


@dataclasses.dataclass(frozen=True)
class RunSession:
    client: RemoteClient
    target: cluster_target.ClusterTarget
    submission: Submission
    console: Console

    async def wait(self, jobs: list[CreatedObject], *, remove: bool) -> int:
        """Wait until the jobs end or the user interrupts; return the exit code."""
        # Imported after the submission: the import takes time, in which the cluster works.
        from traincrew.cli.jobs import wait

        waiter = wait.JobWaiter(self.client, self.console, self.target.log_root)
        interrupts = Interrupts()
        with interrupts.caught():
            try:
                code = await waiter.wait([_key(job) for job in jobs], interrupts)
            except BrokenPipeError:
                self.console.message("Output closed. The job keeps running.")
                return 0
            except wait.Interrupted as interrupted:
                if interrupted.choice is InterruptChoice.DETACH:
                    _print_next_steps(jobs, self.console)
                    return 0
                await self._delete()
                return 128 + (interrupted.number or signal.SIGINT)
            if remove:
                await self._delete()
        if self.target.local is not None:
            self.console.message("The cluster keeps running. Run `traincrew ls` to list its jobs, `traincrew down` to stop it.")
        return code

    async def _delete(self) -> None:
        """Delete the created objects, and wait until the jobs and their pods are deleted."""
        kept = await self.submission.rollback()
        jobs = [
            deletion.JobIdentity(created.wanted.job, created.key.namespace or "", created.key.name, created.uid)
            for created in self.submission.created
            if created.wanted.job is not None
        ]
        self.console.message(f"Deleting {', '.join(job.reference for job in jobs)}.")
        try:
            async with asyncio.timeout(DELETION_TIMEOUT):
                for job in jobs:
                    with contextlib.suppress(errors.TemporaryError):
                        await deletion.wait_until_deleted(self.client, job)
        except TimeoutError:
            self.console.message(
                f"The pods are still terminating after {DELETION_TIMEOUT:.0f} s. They are deleted in the background."
            )
        for created in kept:
            self.console.message(f"{created.key} and its data are kept.")


def _key(created: CreatedObject) -> job_informer.JobKey:
    from traincrew.cli.jobs import job_informer

    assert created.wanted.job is not None
    return job_informer.JobKey(created.wanted.job, created.key.namespace or "", created.key.name, created.uid)


def _print_next_steps(jobs: Sequence[CreatedObject], console: Console) -> None:
    for job in jobs:
        console.message(
            f"{job.key} keeps running. Run `traincrew logs -f {job.key}` to follow it, `traincrew delete {job.key}` to delete it."
        )
