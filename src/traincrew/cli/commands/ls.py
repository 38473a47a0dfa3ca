"""`traincrew ls`: list jobs."""

from __future__ import annotations

import asyncio
import shutil
import sys
from typing import Any

import click

from traincrew import errors
from traincrew.cli import cluster_target, completions, hang_options, output_options
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.render import terminal


@click.command()
@click.argument("jobs", metavar="[JOB]...", nargs=-1, shell_complete=completions.jobs)
@click.option("-A", "--all-namespaces", "all_namespaces", is_flag=True, help="List the jobs of all namespaces.")
@click.option("--all", "deleted", is_flag=True, help="Also list deleted jobs, from the history of the console.")
@click.option("-w", "--watch", is_flag=True, help="Show changes until Ctrl-C: a live table on a terminal, else a line for each.")
@output_options.option("wide")
@hang_options.options
@cluster_target.options_with_history
def ls(
    jobs: tuple[str, ...],
    hang_options: HangOptions,
    target_options: cluster_target.HistoryTargetOptions,
    **flags: Any,
) -> None:
    """List the jobs of all kinds, or the named ones, with their state and the reason why they are waiting or failed.

    On a terminal, a reason that does not fit is printed below its job. Use -o wide to print whole lines. A job that is not found
    is reported, the others are listed, and the exit code is 2.

    \b
    traincrew ls
    traincrew ls mnist resnet
    traincrew ls -A -o wide
    traincrew ls -w
    traincrew ls --all
    traincrew ls -o json
    """
    from traincrew.cli.jobs import inspection, job_selection

    form: str = flags["form"]
    selection = job_selection.JobSelection.parse(jobs, all_namespaces=flags["all_namespaces"])
    if flags["watch"] and flags["deleted"]:
        raise errors.SettingsError("--all cannot be used with --watch")
    if flags["watch"]:
        from traincrew.cli.jobs import job_watch

        sys.exit(asyncio.run(job_watch.watch(job_watch.WatchRequest(form, selection, hang_options), target_options)))
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() and form != "wide" else 0
    options = inspection.InspectionOptions(form, hang_options, deleted=flags["deleted"])
    found = asyncio.run(inspection.list_jobs(target_options, options, selection, columns=columns))
    for error in found.errors:
        terminal.echo(f"error: {error}", err=True)
    if found.text:
        terminal.echo_unchanged(found.text, nl=False)
    if found.text or found.errors:
        sys.exit(2 if found.errors else 0)
    if selection.all_namespaces:
        terminal.echo("No jobs found.", err=True)
    else:
        terminal.echo(f"No jobs found in {found.namespace} namespace. Use -A for all namespaces.", err=True)
