"""Reads jobs from the API server and renders them, for `ls`, `describe` and `why`."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import pathlib
from typing import NamedTuple

from traincrew.apimachinery.terminal_text import printable
from traincrew.cli import cluster_target
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.jobs import host_stacks, query, stacks, time_arguments
from traincrew.cli.jobs.job_selection import JobSelection
from traincrew.cli.local_cluster import environments
from traincrew.cli.render import description, serialization, tables, terminal
from traincrew.client import clock
from traincrew.diagnosis import hang
from traincrew.inspection import activity_query, evidence_query, explanation, failures, observed_job


@dataclasses.dataclass(frozen=True)
class InspectionOptions:
    form: str
    hang: HangOptions
    stacks: bool = False
    """Whether the stacks of a job that seems to hang are read, also on other clusters."""


async def explain(name: str, target_options: cluster_target.TargetOptions, options: InspectionOptions) -> str:
    form = options.form
    async with query.connected(target_options) as (client, target):
        job, stored = await query.get_job(client, target.namespace, name)
        job = await activity_query.with_hang(client, job, _search(options, target))
        evidence = await evidence_query.read(client, job, target.log_root)
        if target.local is not None:
            evidence = dataclasses.replace(evidence, images=_images_with_missing_module(job, evidence, target.local.data))
    if form == "name":
        return serialization.names([json.loads(stored.raw)])
    found = explanation.explain(job, evidence, clock.now())
    return printable(f"{explanation.text(found)}\n") if form == "text" else serialization.dump(found.as_json(), form)


def _images_with_missing_module(
    job: observed_job.ObservedJob, evidence: explanation.Evidence, data: pathlib.Path
) -> tuple[str, ...]:
    module = failures.missing_module(job, evidence.ends)
    return tuple(each.image for each in environments.with_modules(environments.mapped(data), [module])) if module else ()


async def describe(name: str, target_options: cluster_target.TargetOptions, options: InspectionOptions) -> str:
    form = options.form
    async with query.connected(target_options) as (client, target):
        job, stored = await query.get_job(client, target.namespace, name)
        job = await activity_query.with_hang(client, job, activity_query.HangSearch(limits(options.hang)))
        evidence = await evidence_query.read(client, job, target.log_root)
    if form == "text":
        return printable(f"{description.describe(job, evidence, clock.now())}\n")
    document = json.loads(stored.raw)
    return serialization.names([document]) if form == "name" else serialization.dump(document, form)


class JobList(NamedTuple):
    text: str
    """Empty if there are no jobs."""
    namespace: str
    errors: tuple[str, ...] = ()
    """Names that name no job."""


def limits(options: HangOptions) -> hang.HangLimits:
    silent, differs = (time_arguments.parse_age(each) for each in (options.silent_after, options.differs_after))
    return hang.HangLimits(dt.timedelta(seconds=silent), dt.timedelta(seconds=differs))


def _search(options: InspectionOptions, target: cluster_target.ClusterTarget) -> activity_query.HangSearch:
    data = target.local.data if target.local is not None else None
    wanted = options.stacks or (data is not None and host_stacks.is_available())
    return activity_query.HangSearch(limits(options.hang), read_stack=stacks.main_thread_reader(data) if wanted else None)


async def list_jobs(
    target_options: cluster_target.TargetOptions, options: InspectionOptions, selection: JobSelection, *, columns: int
) -> JobList:
    """columns: the width of the table; 0: any."""
    form = options.form
    async with query.connected(target_options) as (client, target):
        namespace = selection.namespace(target.namespace)
        listed, documents = await query.all_jobs(client, namespace)
        if not listed and namespace is not None:
            await query.require_namespace(client, namespace)
        missing = await selection.missing(client, target.namespace, listed)
        chosen = [(job, raw) for job, raw in zip(listed, documents, strict=True) if selection.includes(job)]
        jobs, raw = [job for job, _ in chosen], [raw for _, raw in chosen]
        if form in ("text", "wide"):
            search = activity_query.HangSearch(limits(options.hang), logs=False)
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
    return JobList(text, target.namespace, tuple(missing))
