"""`traincrew describe`: show the details of a job."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target, completions, output_options
from traincrew.cli.render import terminal


@click.command()
@click.argument("job", metavar="JOB", shell_complete=completions.jobs)
@output_options.option()
@cluster_target.options
def describe(job: str, form: str, target_options: cluster_target.TargetOptions) -> None:
    """Show the details of a job: replicas, pods, conditions, failures and events.

    \b
    traincrew describe mnist
    traincrew describe tfjob/mnist -n research
    """
    from traincrew.cli.jobs import inspection

    terminal.echo_unchanged(asyncio.run(inspection.describe(job, form, target_options)), nl=False)
