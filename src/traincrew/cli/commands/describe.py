"""`traincrew describe`: show the details of a job."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target, completions, hang_options, output_options
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.render import terminal


@click.command()
@click.argument("job", metavar="JOB", shell_complete=completions.jobs)
@output_options.option()
@hang_options.options
@cluster_target.options
def describe(job: str, form: str, hang_options: HangOptions, target_options: cluster_target.TargetOptions) -> None:
    """Show the details of a job: replicas, pods, conditions, failures and events.

    \b
    traincrew describe mnist
    traincrew describe tfjob/mnist -n research
    """
    from traincrew.cli.jobs import inspection

    terminal.echo_unchanged(
        asyncio.run(inspection.describe(job, target_options, inspection.InspectionOptions(form, hang_options))), nl=False
    )
