"""`traincrew why`: what a job waits for, or has failed of."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import reach


@click.command()
@click.argument("job", metavar="JOB")
@click.option("-o", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@reach.options
def why(job: str, form: str, reach: reach.Reach) -> None:
    """Tell what a job waits for or has failed of, and what to do about it.

    \b
    traincrew why mnist
    traincrew why tfjob/mnist -n research
    """
    asyncio.run(_why(job, form, reach))


async def _why(name: str, form: str, where: reach.Reach) -> None:
    import datetime as dt

    from traincrew.cli import gathering, printing
    from traincrew.cli.telling import explanation

    async with gathering.connected(where) as (client, target):
        seen, _ = await gathering.job(client, target.namespace, name)
        evidence = await gathering.evidence(client, seen)
    now = dt.datetime.now(dt.UTC)
    told = explanation.explain(seen, evidence, now)
    if form == "text":
        click.echo(explanation.text(told))
    else:
        printing.show(told.as_json(), form)
