"""`traincrew exec`: run a command in a replica of a job."""

from __future__ import annotations

import asyncio
import sys

import click

from traincrew.cli import cluster_target, completions, replica_options


@click.command()
@click.argument("job", metavar="JOB", shell_complete=completions.jobs)
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@replica_options.replica()
@replica_options.container()
@click.option("-i", "--stdin", is_flag=True, help="Pass standard input to the command. Implied on a terminal.")
@click.option("-T", "--no-tty", is_flag=True, help="Do not allocate a terminal in the container.")
@cluster_target.options
def exec(job: str, command: tuple[str, ...], target_options: cluster_target.TargetOptions, **chosen: bool | str) -> None:
    """Run a command in a replica of a job. The exit code is that of the command, or 127 if it is not found.

    A terminal is allocated if standard input and standard output are terminals.

    \b
    traincrew exec mnist --replica worker-1 -- bash
    traincrew exec mnist -- nvidia-smi
    tar c data | traincrew exec mnist -i -- tar x
    """
    from traincrew.cli.jobs import exec_terminal

    sys.exit(asyncio.run(exec_terminal.exec_command(job, command, target_options, exec_terminal.ExecRequest(**chosen))))  # type: ignore[arg-type]
