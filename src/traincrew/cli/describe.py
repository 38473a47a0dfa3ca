"""`traincrew describe`: everything about a job on one page."""

from __future__ import annotations

import asyncio
import json

import click

from traincrew.cli import reach


@click.command()
@click.argument("job", metavar="JOB")
@click.option("-o", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@reach.options
def describe(job: str, form: str, reach: reach.Reach) -> None:
    """Tell everything about a job: replicas, pods, conditions, failures, events.

    \b
    traincrew describe mnist
    traincrew describe tfjob/mnist -n research
    """
    asyncio.run(_describe(job, form, reach))


async def _describe(name: str, form: str, where: reach.Reach) -> None:
    import datetime as dt

    from traincrew.cli import gathering, printing
    from traincrew.cli.telling import description

    async with gathering.connected(where) as (client, target):
        seen, found = await gathering.job(client, target.namespace, name)
        evidence = await gathering.evidence(client, seen)
    now = dt.datetime.now(dt.UTC)
    if form == "text":
        click.echo(description.describe(seen, evidence, now))
    else:
        printing.show(json.loads(found.raw), form)
