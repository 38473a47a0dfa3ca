"""`traincrew delete`: delete jobs and the objects they own."""

from __future__ import annotations

import asyncio

import click

from traincrew import errors
from traincrew.cli import cluster_target


@click.command()
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@click.option("--all", "all_jobs", is_flag=True, help="Delete all jobs in the namespace.")
@click.option("--finished", is_flag=True, help="Delete only finished jobs. Use with --all.")
@click.option("--wait/--no-wait", default=False, show_default=True, help="Wait until the jobs and their pods are deleted.")
@click.option("--timeout", default=120.0, show_default=True, metavar="SECONDS", help="Maximum time to wait with --wait.")
@cluster_target.options
def delete(
    jobs: tuple[str, ...], all_jobs: bool, finished: bool, target_options: cluster_target.TargetOptions, **waiting: float
) -> None:
    """Delete jobs with their pods, services and config maps. PersistentVolumeClaims and their data are kept.

    \b
    traincrew delete mnist --wait
    traincrew delete --all --finished
    """
    if bool(jobs) == all_jobs:
        raise errors.SettingsError("specify the jobs to delete, or --all")
    from traincrew.cli.jobs import deletion

    timeout = waiting["timeout"] if waiting["wait"] else 0.0
    asyncio.run(deletion.delete_jobs(jobs, target_options, finished_only=finished, max_wait=timeout))
