"""`traincrew why`: show why a job is waiting or why it failed."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target, completions, output_options
from traincrew.cli.render import terminal


@click.command()
@click.argument("job", metavar="JOB", shell_complete=completions.jobs)
@output_options.option()
@cluster_target.options
def why(job: str, form: str, target_options: cluster_target.TargetOptions) -> None:
    """Show why a job is waiting or why it failed, and what to do.

    \b
    traincrew why mnist
    traincrew why tfjob/mnist -n research
    """
    from traincrew.cli.jobs import inspection

    terminal.echo_unchanged(asyncio.run(inspection.explain(job, form, target_options)), nl=False)
