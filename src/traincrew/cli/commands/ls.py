"""`traincrew ls`: the jobs there are."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys

import click

from traincrew.cli import target as cli_target
from traincrew.client import clock


@click.command()
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="List the jobs of all namespaces.")
@click.option(
    "-o", "form", type=click.Choice(["text", "wide", "json", "yaml"]), default="text", show_default=True, help="Output format."
)
@cli_target.options
def ls(everywhere: bool, form: str, reach: cli_target.TargetOptions) -> None:
    """List the jobs of all kinds with their state and the reason why they are waiting or failed.

    On a terminal, lines are cut at the width of the screen. Use -o wide to print whole lines.

    \b
    traincrew ls
    traincrew ls -A -o wide
    traincrew ls -o json
    """
    asyncio.run(_ls(everywhere, form, reach))


async def _ls(everywhere: bool, form: str, where: cli_target.TargetOptions) -> None:

    from traincrew.cli.jobs import query
    from traincrew.cli.render import objects, tables

    async with query.connected(where) as (client, target):
        views, raw = await query.every_job(client, None if everywhere else target.namespace)
        if not raw and not everywhere:
            await query.is_there(client, target.namespace)
    if form in ("json", "yaml"):
        objects.show(objects.listed([json.loads(each) for each in raw]), form)
    elif not views:
        click.echo(
            "No jobs found." if everywhere else f"No jobs found in {target.namespace} namespace. Use -A for all namespaces.",
            err=True,
        )
    else:
        chosen = query.in_order(views)
        cut = sys.stdout.isatty() and form != "wide"
        columns = shutil.get_terminal_size().columns if cut else 0
        click.echo(tables.jobs(chosen, clock.now(), namespaces=everywhere, columns=columns))
