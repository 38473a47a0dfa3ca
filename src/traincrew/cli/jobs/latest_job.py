"""The job that a verb shows if the user names none: the one that was created last. Verbs that change jobs need a name."""

from __future__ import annotations

from traincrew import errors
from traincrew.cli.jobs import query
from traincrew.cli.render import terminal
from traincrew.client import interfaces
from traincrew.inspection import job_references, observed_job
from traincrew.inspection.observed_job import ObservedJob


async def _jobs(reader: interfaces.Reader, namespace: str) -> list[ObservedJob]:
    """Without their pods; the newest last."""
    stored = await job_references.list_jobs(reader, namespace)
    return query.sort_by_creation(observed_job.observe(kind, raw) for kind, raw in stored)


async def find(reader: interfaces.Reader, namespace: str) -> str:
    """Its reference, which is said on standard error. Raise NoJob if there is no job."""
    jobs = await _jobs(reader, namespace)
    if not jobs:
        await query.require_namespace(reader, namespace)
        raise errors.NoJob(f'no jobs found in namespace "{namespace}". Run `traincrew ls -A` to list the jobs of all namespaces.')
    terminal.echo(f"No job is named: this is {jobs[-1].reference}, which was created last.", err=True)
    return jobs[-1].reference


async def say_failed(reader: interfaces.Reader, shown: ObservedJob) -> None:
    """The job that failed last may be meant, if the one that is shown did not fail."""
    if shown.state == "Failed":
        return
    if failed := [job for job in await _jobs(reader, shown.job.namespace) if job.state == "Failed"]:
        terminal.echo(f"{failed[-1].reference} has failed: `traincrew why {failed[-1].reference}` shows the cause.", err=True)
