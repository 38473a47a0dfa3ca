"""`traincrew describe`: everything about a job on one page."""

from __future__ import annotations

import asyncio
import json

import click

from traincrew.cli import target as cli_target
from traincrew.client import clock


@click.command()
@click.argument("job", metavar="JOB")
@click.option("-o", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True, help="Output format.")
@cli_target.options
def describe(job: str, form: str, reach: cli_target.TargetOptions) -> None:
    """Show the details of a job: replicas, pods, conditions, failures and events.

    \b
    traincrew describe mnist
    traincrew describe tfjob/mnist -n research
    """
    asyncio.run(_describe(job, form, reach))


async def _describe(name: str, form: str, where: cli_target.TargetOptions) -> None:

    from traincrew.cli.jobs import query
    from traincrew.cli.render import description, objects

    async with query.connected(where) as (client, target):
        seen, found = await query.job(client, target.namespace, name)
        evidence = await query.evidence(client, seen)
    now = clock.now()
    if form == "text":
        click.echo(description.describe(seen, evidence, now))
    else:
        objects.show(json.loads(found.raw), form)
