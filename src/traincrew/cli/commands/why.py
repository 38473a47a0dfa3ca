"""`traincrew why`: what a job waits for, or has failed of."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import target as cli_target
from traincrew.client import clock


@click.command()
@click.argument("job", metavar="JOB")
@click.option("-o", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True, help="Output format.")
@cli_target.options
def why(job: str, form: str, reach: cli_target.TargetOptions) -> None:
    """Show why a job is waiting or why it failed, and what to do.

    \b
    traincrew why mnist
    traincrew why tfjob/mnist -n research
    """
    asyncio.run(_why(job, form, reach))


async def _why(name: str, form: str, where: cli_target.TargetOptions) -> None:

    from traincrew.cli.jobs import query
    from traincrew.cli.render import explanation, objects

    async with query.connected(where) as (client, target):
        seen, _ = await query.job(client, target.namespace, name)
        evidence = await query.evidence(client, seen)
    now = clock.now()
    told = explanation.explain(seen, evidence, now)
    if form == "text":
        click.echo(explanation.text(told))
    else:
        objects.show(told.as_json(), form)
