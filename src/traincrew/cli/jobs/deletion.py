"""Deletes jobs, and waits until the jobs and their pods are deleted."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import action_report, query
from traincrew.cli.render import terminal
from traincrew.client import interfaces
from traincrew.inspection import job_references, observed_job
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


@dataclasses.dataclass(frozen=True)
class DeletionRequest:
    names: tuple[str, ...] = ()
    """Empty: all jobs of the namespace."""
    finished_only: bool = False
    max_wait: float = 0.0
    """Seconds to wait until the jobs are deleted."""
    form: str = "text"


async def delete_jobs(request: DeletionRequest, target_options: cluster_target.TargetOptions) -> int:
    """Delete the jobs that exist. Return 2 if another job was named, else 0."""
    report = action_report.ActionReport(request.form)
    async with query.connected(target_options) as (client, target):
        found, missing = await _find_all(client, target.namespace, request.names)
        identified = [(identify(each.kind, each.raw), each.raw) for each in found]
        jobs = [(job, raw) for job, raw in identified if job.finished or not request.finished_only]
        for job, raw in jobs:
            await delete(client, job)
            report.add(f"{job.reference} deleted", raw)
        for error in missing:
            terminal.echo(f"error: {error}", err=True)
        if request.max_wait:
            await _wait_for_all(client, [job for job, _ in jobs], request.max_wait)
    report.close()
    if not jobs and not missing:
        terminal.echo("No jobs to delete.", err=True)
    return 2 if missing else 0


async def _find_all(
    client: interfaces.Client, namespace: str, names: tuple[str, ...]
) -> tuple[list[job_references.StoredJob], list[errors.UserError]]:
    """The jobs, and an error for each name that names no job or several."""
    if not names:
        return await job_references.list_jobs(client, namespace), []
    found, missing = list[job_references.StoredJob](), list[errors.UserError]()
    for name in names:
        try:
            found.append(await job_references.find(client, namespace, name))
        except errors.UserError as error:
            missing.append(error)
    return found, missing


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
