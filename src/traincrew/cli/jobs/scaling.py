"""Changes the number of workers of a job."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import action_report, query
from traincrew.cli.render.observed_job import ObservedJob
from traincrew.kinds import autoscaling

ROLE = "Worker"


async def scale(name: str, replicas: int, target_options: cluster_target.TargetOptions, *, force: bool, form: str) -> None:
    async with query.connected(target_options) as (client, target):
        job, stored = await query.get_job(client, target.namespace, name)
        if job.job.status.finished:
            raise errors.SettingsError(f"{job.reference} is already finished ({job.state})")
        key = _role_key(msgspec.json.decode(stored.raw), job)
        if not force and (objection := _outside_limits(job, replicas) or _not_elastic(job, replicas)):
            raise errors.SettingsError(f"{job.reference} {objection} Use --force to scale anyway.")
        change: dict[str, Any] = {"spec": {"replicas": replicas}}
        subresource = "scale"
        if not stored.kind.crd.scalable or key != ROLE:  # /scale requires the canonical spelling of the role
            change, subresource = {"spec": {stored.kind.replicas_field: {key: {"replicas": replicas}}}}, ""
        body = msgspec.json.encode(change)
        await client.patch(stored.kind.resource, target.namespace, job.job.name, body, subresource=subresource)
        # The response of the subresource is a Scale.
        changed = await client.get(stored.kind.resource, target.namespace, job.job.name) if form != "text" else b""
    report = action_report.ActionReport(form)
    report.add(f"{job.reference} scaled from {job.job.count(ROLE)} to {replicas} workers{_other_roles(job)}", changed)
    report.close()


def _role_key(manifest: dict[str, Any], job: ObservedJob) -> str:
    """The key of the workers as the manifest spells it."""
    for key in manifest["spec"].get(job.kind.replicas_field) or ():
        if key.lower() == ROLE.lower():
            return str(key)
    raise errors.SettingsError(f"{job.reference} has no workers to scale")


def _outside_limits(job: ObservedJob, replicas: int) -> str:
    policy = getattr(job.job.spec, "elastic_policy", None)
    if policy is None:
        return ""
    low, high = autoscaling.bounds(job.job, policy)
    return f"allows {low} to {high} workers by its elastic policy, not {replicas}." if not low <= replicas <= high else ""


def _not_elastic(job: ObservedJob, replicas: int) -> str:
    """Why the running pods cannot adapt to the new number; empty if they can."""
    running = [pod for pod in job.pods if not pod.finished and not pod.terminating]
    if not running or replicas == job.job.count(ROLE) or not job.kind.lifecycle.fixed_size(job.job):
        return ""
    return (
        f"is not elastic: its {len(running)} running pods expect {job.job.total} replicas and cannot adapt. Run "
        f"`traincrew suspend {job.reference}`, scale, then `traincrew resume {job.reference}` to restart it with {replicas} "
        f"workers{_other_roles(job)}."
    )


def _other_roles(job: ObservedJob) -> str:
    others = [f"{job.job.count(role)} {role}" for role in job.job.roles if role != ROLE]
    return f" (plus {', '.join(others)})" if others else ""
