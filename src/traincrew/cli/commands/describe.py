"""`traincrew describe`: show the details of a job."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target
from traincrew.cli.render import terminal


@click.command()
@click.argument("job", metavar="JOB")
@click.option("-o", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True, help="Output format.")
@cluster_target.options
def describe(job: str, form: str, target_options: cluster_target.TargetOptions) -> None:
    """Show the details of a job: replicas, pods, conditions, failures and events.

    \b
    traincrew describe mnist
    traincrew describe tfjob/mnist -n research
    """
    from traincrew.cli.jobs import inspection

    terminal.echo_unchanged(asyncio.run(inspection.describe(job, form, target_options)), nl=False)
