"""Reads jobs from the API server and renders them, for `ls`, `describe` and `why`."""

from __future__ import annotations

import json
from typing import NamedTuple

from traincrew.apimachinery.terminal_text import printable
from traincrew.cli import cluster_target
from traincrew.cli.jobs import query
from traincrew.cli.render import description, explanation, serialization, tables, terminal
from traincrew.client import clock


async def explain(name: str, form: str, target_options: cluster_target.TargetOptions) -> str:
    async with query.connected(target_options) as (client, target):
        job, stored = await query.get_job(client, target.namespace, name)
        evidence = await query.evidence(client, job)
    if form == "name":
        return serialization.names([json.loads(stored.raw)])
    found = explanation.explain(job, evidence, clock.now())
    return printable(f"{explanation.text(found)}\n") if form == "text" else serialization.dump(found.as_json(), form)


async def describe(name: str, form: str, target_options: cluster_target.TargetOptions) -> str:
    async with query.connected(target_options) as (client, target):
        job, stored = await query.get_job(client, target.namespace, name)
        evidence = await query.evidence(client, job)
    if form == "text":
        return printable(f"{description.describe(job, evidence, clock.now())}\n")
    document = json.loads(stored.raw)
    return serialization.names([document]) if form == "name" else serialization.dump(document, form)


class JobList(NamedTuple):
    text: str
    """Empty if there are no jobs."""
    namespace: str


async def list_jobs(form: str, target_options: cluster_target.TargetOptions, *, all_namespaces: bool, columns: int) -> JobList:
    """columns: the width at which lines of the table are cut; 0: not cut."""
    async with query.connected(target_options) as (client, target):
        jobs, raw = await query.all_jobs(client, None if all_namespaces else target.namespace)
        if not raw and not all_namespaces:
            await query.require_namespace(client, target.namespace)
    if form in ("json", "yaml"):
        text = serialization.dump(serialization.as_list([json.loads(each) for each in raw]), form)
    elif form == "name":
        text = serialization.names(json.loads(each) for each in raw)
    elif jobs:
        chosen = query.sort_by_creation(jobs)
        table = printable(tables.jobs(chosen, clock.now(), namespaces=all_namespaces, columns=columns))
        text = terminal.styled_states(f"{table}\n")
    else:
        text = ""
    return JobList(text, target.namespace)
