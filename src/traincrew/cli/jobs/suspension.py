"""Suspends and resumes jobs."""

from __future__ import annotations

import msgspec

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import job_references, query
from traincrew.cli.render import observed_job, terminal


async def set_suspended(names: tuple[str, ...], target_options: cluster_target.TargetOptions, suspended: bool) -> None:
    async with query.connected(target_options) as (client, target):
        for name in names:
            stored = await job_references.find(client, target.namespace, name)
            job = observed_job.observe(stored.kind, stored.raw)
            if job.job.status.finished:
                raise errors.SettingsError(f"{job.reference} is already finished ({job.state})")
            if job.job.suspended is suspended:
                terminal.echo(f"{job.reference} is {'already suspended' if suspended else 'not suspended'}")
                continue
            body = msgspec.json.encode({"spec": {"runPolicy": {"suspend": suspended}}})
            await client.patch(stored.kind.resource, target.namespace, job.job.name, body)
            terminal.echo(f"{job.reference} {'suspended' if suspended else 'resumed'}")
