"""`traincrew ls`: list jobs."""

from __future__ import annotations

import asyncio
import shutil
import sys

import click

from traincrew.cli import cluster_target, hang_options, output_options
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.render import terminal


@click.command()
@click.option("-A", "--all-namespaces", "all_namespaces", is_flag=True, help="List the jobs of all namespaces.")
@click.option("-w", "--watch", is_flag=True, help="Show changes until Ctrl-C: a live table on a terminal, else a line for each.")
@output_options.option("wide")
@hang_options.options
@cluster_target.options
def ls(
    all_namespaces: bool, watch: bool, form: str, hang_options: HangOptions, target_options: cluster_target.TargetOptions
) -> None:
    """List the jobs of all kinds with their state and the reason why they are waiting or failed.

    On a terminal, lines are cut at the width of the screen. Use -o wide to print whole lines.

    \b
    traincrew ls
    traincrew ls -A -o wide
    traincrew ls -w
    traincrew ls -o json
    """
    if watch:
        from traincrew.cli.jobs import job_watch

        sys.exit(asyncio.run(job_watch.watch(job_watch.WatchRequest(form, all_namespaces, hang_options), target_options)))
    from traincrew.cli.jobs import inspection

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() and form != "wide" else 0
    options = inspection.InspectionOptions(form, hang_options)
    found = asyncio.run(inspection.list_jobs(target_options, options, all_namespaces=all_namespaces, columns=columns))
    if found.text:
        terminal.echo_unchanged(found.text, nl=False)
    elif all_namespaces:
        terminal.echo("No jobs found.", err=True)
    else:
        terminal.echo(f"No jobs found in {found.namespace} namespace. Use -A for all namespaces.", err=True)
