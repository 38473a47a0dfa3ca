"""Changes the number of workers of a job, or the annotation that says who chooses it."""

from __future__ import annotations

import msgspec

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import action_report, query
from traincrew.cli.render import terminal
from traincrew.inspection import scaling_limits
from traincrew.kinds import elasticity
from traincrew.model import naming


async def scale(name: str, replicas: int, target_options: cluster_target.TargetOptions, *, force: bool, form: str) -> None:
    async with query.connected(target_options) as (client, target):
        job, stored = await query.get_job(client, target.namespace, name)
        if job.job.status.finished:
            raise errors.SettingsError(f"{job.reference} is already finished ({job.state})")
        patch = scaling_limits.patch(stored.kind, stored.raw, job, replicas)
        if not force and (objection := scaling_limits.objection(job, replicas)):
            raise errors.SettingsError(f"{job.reference} {objection} Use --force to scale anyway.")
        if ending := scaling_limits.ending(job, replicas):
            terminal.echo(ending, err=True)
        await client.patch(stored.kind.resource, target.namespace, job.job.name, patch.body, subresource=patch.subresource)
        # The response of the subresource is a Scale.
        changed = await client.get(stored.kind.resource, target.namespace, job.job.name) if form != "text" else b""
    report = action_report.ActionReport(form)
    before, others = job.job.requested(scaling_limits.ROLE), scaling_limits.other_roles(job)
    effect = scaling_limits.effect(job, replicas)
    report.add(f"{job.reference} scaled from {before} to {replicas} workers{others}{f'. {effect}' if effect else ''}", changed)
    report.close()


async def set_mode(name: str, mode: str, target_options: cluster_target.TargetOptions, *, force: bool, form: str) -> None:
    """force: also if the job cannot adapt; the operator reports that on the job."""
    async with query.connected(target_options) as (client, target):
        job, stored = await query.get_job(client, target.namespace, name)
        if job.job.status.finished:
            raise errors.SettingsError(f"{job.reference} is already finished ({job.state})")
        if not force and (error := scaling_limits.mode_error(job, mode)):
            raise errors.SettingsError(f"{job.reference} cannot be scaled by the operator: {error}")
        body = msgspec.json.encode({"metadata": {"annotations": {naming.SCALING: mode}}})
        changed = await client.patch(stored.kind.resource, target.namespace, job.job.name, body)
    for advice in scaling_limits.mode_advice(job, mode):
        terminal.echo(f"warning: {advice}", err=True)
    report = action_report.ActionReport(form)
    report.add(
        f"{job.reference} scaling changed from {elasticity.mode(job.job)} to {mode}{scaling_limits.range_of(job, mode)}", changed
    )
    report.close()
