"""`traincrew resume`: resume suspended jobs."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target, completions, output_options


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=completions.jobs)
@output_options.option()
@cluster_target.options
def resume(jobs: tuple[str, ...], form: str, target_options: cluster_target.TargetOptions) -> None:
    """Resume suspended jobs.

    \b
    traincrew resume mnist
    """
    from traincrew.cli.jobs import suspension

    asyncio.run(suspension.set_suspended(jobs, target_options, False, form))
