"""Reads jobs from the API server and renders them, for `ls`, `describe` and `why`."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import TYPE_CHECKING, NamedTuple

from traincrew import errors
from traincrew.apimachinery.terminal_text import printable
from traincrew.cli import cluster_target
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.jobs import hang_search, latest_job, query
from traincrew.cli.jobs.job_selection import JobSelection
from traincrew.cli.render import serialization, tables, terminal
from traincrew.client import clock
from traincrew.client.remote import RemoteClient
from traincrew.inspection import activity_query, observed_job
from traincrew.model.meta import Time

if TYPE_CHECKING:  # `ls` does not need it
    from traincrew.inspection import explanation


@dataclasses.dataclass(frozen=True)
class InspectionOptions:
    form: str
    hang: HangOptions
    stacks: bool = False
    """Whether the stacks of a job that seems to hang are read, also on other clusters."""
    recording: str = ""
    """A recording file, in place of a cluster."""
    deleted: bool = False
    """Whether deleted jobs are listed, too."""


class _ReadJob(NamedTuple):
    job: observed_job.ObservedJob
    evidence: explanation.Evidence
    raw: bytes
    now: Time
    """The job is shown as of this time."""


async def _read(
    client: RemoteClient,
    target_options: cluster_target.HistoryTargetOptions,
    target: cluster_target.ClusterTarget,
    name: str,
    search: activity_query.HangSearch,
) -> _ReadJob:
    """From the API server, else from the history. Without a name: the job that was created last."""
    from traincrew.inspection import evidence_query

    name = name or await latest_job.find(client, target.namespace)
    try:
        job, stored = await query.get_job(client, target.namespace, name)
    except errors.NoJob as missing:
        from traincrew.cli.jobs import recorded_jobs

        async with recorded_jobs.find(target_options, target, name, missing) as found:
            return _ReadJob(found.observed, await evidence_query.read(found.reader, found.observed), found.raw, clock.now())
    examined = await activity_query.examine(client, job, search)
    evidence = await evidence_query.read(client, job, target.log_root)
    evidence = dataclasses.replace(evidence, activities=examined.activities, install=search.install)
    job = dataclasses.replace(job, hang=examined.hang.message if examined.hang is not None else "")
    return _ReadJob(job, evidence, stored.raw, clock.now())


async def _read_recording(path: str, name: str) -> _ReadJob:
    from traincrew.cli.jobs import opened_job
    from traincrew.inspection import evidence_query

    async with opened_job.opened(path, name) as (found, exported):
        return _ReadJob(found.observed, await evidence_query.read(found.reader, found.observed), found.raw, exported)


async def explain(name: str, target_options: cluster_target.HistoryTargetOptions, options: InspectionOptions) -> str:
    if options.recording:
        return _explained(await _read_recording(options.recording, name), options.form)
    async with query.connected(target_options) as (client, target):
        search = hang_search.for_target(options.hang, target, read_stacks=options.stacks)
        read = await _read(client, target_options, target, name, search)
        if not name:
            await latest_job.say_failed(client, read.job)
        if target.local is not None:
            images = _images_with_missing_module(read.job, read.evidence, target.local.data)
            read = read._replace(evidence=dataclasses.replace(read.evidence, images=images))
    return _explained(read, options.form)


def _explained(read: _ReadJob, form: str) -> str:
    from traincrew.inspection import explanation

    if form == "name":
        return serialization.names([json.loads(read.raw)])
    found = explanation.explain(read.job, read.evidence, read.now)
    return printable(f"{explanation.text(found)}\n") if form == "text" else serialization.dump(found.as_json(), form)


def _images_with_missing_module(
    job: observed_job.ObservedJob, evidence: explanation.Evidence, data: pathlib.Path
) -> tuple[str, ...]:
    from traincrew.inspection import failures

    if not (module := failures.missing_module(job, evidence.ends)):
        return ()
    from traincrew.cli.local_cluster import environments

    return tuple(each.image for each in environments.with_modules(environments.mapped(data), [module]))


async def describe(name: str, target_options: cluster_target.HistoryTargetOptions, options: InspectionOptions) -> str:
    from traincrew.cli.render import description

    form = options.form
    if options.recording:
        found = await _read_recording(options.recording, name)
    else:
        async with query.connected(target_options) as (client, target):
            found = await _read(client, target_options, target, name, hang_search.for_target(options.hang, target))
    if form == "text":
        return printable(f"{description.describe(found.job, found.evidence, found.now)}\n")
    document = json.loads(found.raw)
    return serialization.names([document]) if form == "name" else serialization.dump(document, form)


class RenderedJobs(NamedTuple):
    text: str
    """Empty if there are no jobs."""
    namespace: str
    errors: tuple[str, ...] = ()
    """Names that name no job."""


async def list_jobs(
    target_options: cluster_target.HistoryTargetOptions, options: InspectionOptions, selection: JobSelection, *, columns: int
) -> RenderedJobs:
    """columns: the width of the table; 0: any."""
    form = options.form
    async with query.connected(target_options) as (client, target):
        namespace = selection.namespace(target.namespace)
        listed, documents = await query.all_jobs(client, namespace)
        if options.deleted:
            from traincrew.cli.jobs import recorded_jobs

            recorded = await recorded_jobs.deleted(target_options, target, namespace)
            listed, documents = [*listed, *(job for job, _ in recorded)], [*documents, *(raw for _, raw in recorded)]
        if not listed and namespace is not None:
            await query.require_namespace(client, namespace)
        missing = await selection.missing(client, target.namespace, listed)
        chosen = [(job, raw) for job, raw in zip(listed, documents, strict=True) if selection.includes(job)]
        jobs, raw = [job for job, _ in chosen], [raw for _, raw in chosen]
        if form in ("text", "wide"):
            search = hang_search.for_target(options.hang, target, logs=False)
            jobs = await activity_query.with_hangs(client, jobs, search, namespace)
    if form in ("json", "yaml"):
        text = serialization.dump(serialization.as_list([json.loads(each) for each in raw]), form)
    elif form == "name":
        text = serialization.names(json.loads(each) for each in raw)
    elif jobs:
        jobs = query.sort_by_creation(jobs)
        table = printable(tables.jobs(jobs, clock.now(), namespaces=selection.all_namespaces, columns=columns))
        text = terminal.styled_states(f"{table}\n")
    else:
        text = ""
    return RenderedJobs(text, target.namespace, tuple(missing))
