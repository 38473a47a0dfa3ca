"""`traincrew suspend`: stop the pods of jobs and keep the jobs."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target, completions, output_options


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=completions.jobs)
@output_options.option()
@cluster_target.options
def suspend(jobs: tuple[str, ...], form: str, target_options: cluster_target.TargetOptions) -> None:
    """Suspend jobs: stop their pods and keep the jobs.

    `traincrew resume` starts the pods again. A job that writes checkpoints continues from its last one.

    \b
    traincrew suspend mnist
    """
    from traincrew.cli.jobs import suspension

    asyncio.run(suspension.set_suspended(jobs, target_options, True, form))
