"""`traincrew delete`: delete jobs and the objects they own."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from traincrew import errors
from traincrew.cli import cluster_target, completions, output_options
from traincrew.cli.duration import Duration


@click.command()
@click.argument("jobs", metavar="[JOB]...", nargs=-1, shell_complete=completions.jobs)
@click.option("--all", "all_jobs", is_flag=True, help="Delete all jobs in the namespace.")
@click.option("--finished", is_flag=True, help="Delete only finished jobs. Use with --all.")
@click.option("--wait/--no-wait", default=False, show_default=True, help="Wait until the jobs and their pods are deleted.")
@click.option(
    "--timeout", type=Duration(), default="2m", show_default=True, metavar="DURATION", help="Maximum time to wait with --wait."
)
@output_options.option()
@cluster_target.options
def delete(jobs: tuple[str, ...], all_jobs: bool, target_options: cluster_target.TargetOptions, **flags: Any) -> None:
    """Delete jobs with their pods, services and config maps. PersistentVolumeClaims and their data are kept.

    A job that is not found is reported, the other jobs are deleted, and the exit code is 2.

    \b
    traincrew delete mnist --wait
    traincrew delete mnist resnet
    traincrew delete --all --finished
    """
    if jobs and all_jobs:
        raise errors.SettingsError("--all deletes all jobs of the namespace. Omit --all to delete the named jobs only.")
    if flags["finished"] and not jobs and not all_jobs:
        raise errors.SettingsError("--finished requires --all. Run `traincrew delete --all --finished`.")
    if not jobs and not all_jobs:
        raise errors.SettingsError("specify the jobs to delete, or --all")
    from traincrew.cli.jobs import deletion

    timeout = flags["timeout"] if flags["wait"] else 0.0
    request = deletion.DeletionRequest(jobs, finished_only=flags["finished"], max_wait=timeout, form=flags["form"])
    sys.exit(asyncio.run(deletion.delete_jobs(request, target_options)))
