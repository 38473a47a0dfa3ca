"""Suspends and resumes jobs."""

from __future__ import annotations

import contextlib

import msgspec

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import action_report, query
from traincrew.inspection import job_references, kueue_admission, observed_job


async def set_suspended(names: tuple[str, ...], target_options: cluster_target.TargetOptions, suspended: bool, form: str) -> None:
    report = action_report.ActionReport(form)
    with contextlib.closing(report):  # also after an error: the earlier jobs are changed
        await _set_suspended(names, target_options, suspended, report)


async def _set_suspended(
    names: tuple[str, ...],
    target_options: cluster_target.TargetOptions,
    suspended: bool,
    report: action_report.ActionReport,
) -> None:
    async with query.connected(target_options) as (client, target):
        for name in names:
            stored = await job_references.find(client, target.namespace, name)
            job = observed_job.observe(stored.kind, stored.raw)
            if job.job.status.finished:
                raise errors.SettingsError(f"{job.reference} is already finished ({job.state})")
            if job.job.suspended is suspended:
                report.add(f"{job.reference} is {'already suspended' if suspended else 'not suspended'}", stored.raw)
                continue
            body = msgspec.json.encode({"spec": {"runPolicy": {"suspend": suspended}}})
            changed = await client.patch(stored.kind.resource, target.namespace, job.job.name, body)
            report.add(f"{job.reference} {'suspended' if suspended else 'resumed'}{_queue_note(job)}", changed)


def _queue_note(job: observed_job.ObservedJob) -> str:
    queue = kueue_admission.queue(job)
    return f". It is in queue {queue} of Kueue, which suspends and resumes the job itself." if queue else ""
