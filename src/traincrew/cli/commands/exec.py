"""`traincrew exec`: a command in a replica."""

from __future__ import annotations

import asyncio
import sys

import click

from traincrew.cli import target


@click.command()
@click.argument("job", metavar="JOB")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option("--replica", metavar="NAME", default="", help="Such as worker-0; default: the first that runs.")
@click.option("-c", "--container", metavar="NAME", default="", help="Default: the one that trains.")
@click.option("-i", "--stdin", is_flag=True, help="Pass standard input on; with a terminal that is done anyway.")
@click.option("-T", "--no-tty", is_flag=True, help="No terminal in the container, though we have one.")
@target.options
def exec(job: str, command: tuple[str, ...], reach: target.TargetOptions, **chosen: bool | str) -> None:
    """Run a command in a replica of a job, with a terminal if there is one here. Returns the command's exit code.

    \b
    traincrew exec mnist --replica worker-1 -- bash
    traincrew exec mnist -- nvidia-smi
    tar c data | traincrew exec mnist -i -- tar x
    """
    from traincrew.cli.jobs import exec_terminal

    sys.exit(asyncio.run(exec_terminal.enter(job, command, reach, exec_terminal.Ask(**chosen))))  # type: ignore[arg-type]
