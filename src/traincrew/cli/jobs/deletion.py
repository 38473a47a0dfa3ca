"""Deletes jobs, and waits until the jobs and their pods are deleted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import NamedTuple

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import job_references, query
from traincrew.cli.render import observed_job, terminal
from traincrew.client import interfaces
from traincrew.kinds.kind import JobKind

SHORTEST_POLL, LONGEST_POLL = 0.02, 0.2
"""Seconds between polls: most jobs are deleted at once, others after the grace period of their pods."""


class JobIdentity(NamedTuple):
    kind: JobKind
    namespace: str
    name: str
    uid: str
    finished: bool = False

    @property
    def reference(self) -> str:
        return f"{self.kind.singular}/{self.name}"


def identify(kind: JobKind, raw: bytes) -> JobIdentity:
    job = observed_job.observe(kind, raw).job
    return JobIdentity(kind, job.namespace, job.name, job.metadata.uid, job.status.finished)


async def delete_jobs(
    names: tuple[str, ...], target_options: cluster_target.TargetOptions, *, finished_only: bool, max_wait: float
) -> None:
    """Delete the named jobs, or all jobs of the namespace without names. max_wait: seconds to wait until they are deleted."""
    async with query.connected(target_options) as (client, target):
        if names:
            found = [await job_references.find(client, target.namespace, name) for name in names]
        else:
            found = await job_references.list_jobs(client, target.namespace)
        jobs = [job for each in found if (job := identify(each.kind, each.raw)).finished or not finished_only]
        for job in jobs:
            await delete(client, job)
            terminal.echo(f"{job.reference} deleted")
        if max_wait:
            await _wait_for_all(client, jobs, max_wait)
    if not jobs:
        terminal.echo("No jobs to delete.", err=True)


async def _wait_for_all(client: interfaces.Client, jobs: Iterable[JobIdentity], max_wait: float) -> None:
    try:
        async with asyncio.timeout(max_wait):
            for job in jobs:
                await wait_until_deleted(client, job)
    except TimeoutError:
        raise errors.NoJob(
            f"timed out after {max_wait:.0f} s waiting for deletion. Run `kubectl get pods` to see the remaining pods."
        ) from None


async def delete(client: interfaces.Client, job: JobIdentity) -> None:
    """Delete in the background. A job that no longer exists is not an error."""
    with contextlib.suppress(errors.NotFound, errors.Conflict):
        await client.delete(job.kind.resource, job.namespace, job.name, uid=job.uid, propagation="Background")


async def wait_until_deleted(client: interfaces.Client, job: JobIdentity) -> None:
    """Poll instead of watching: the deletion is short, and polling survives a restart of the API server."""
    pause = SHORTEST_POLL
    while await _exists(client, job) or await _has_pods(client, job):
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST_POLL)


async def _exists(client: interfaces.Client, job: JobIdentity) -> bool:
    try:
        raw = await client.get(job.kind.resource, job.namespace, job.name)
    except errors.NotFound:
        return False
    return observed_job.observe(job.kind, raw).job.metadata.uid == job.uid


async def _has_pods(client: interfaces.Client, job: JobIdentity) -> bool:
    try:
        found = await query.pods(client, job.namespace, observed_job.selector(job.name))
    except errors.NotFound:
        return False
    return any(observed_job.belongs(pod, job.kind, job.name) for pod in found)
