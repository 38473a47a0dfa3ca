"""`traincrew suspend`."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import target
from traincrew.cli.jobs import suspension


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@target.options
def suspend(jobs: tuple[str, ...], reach: target.TargetOptions) -> None:
    """Suspend jobs: stop their pods and keep the jobs.

    `traincrew resume` starts the pods again. A job that writes checkpoints continues from its last one.

    \b
    traincrew suspend mnist
    """
    asyncio.run(suspension.suspend(jobs, reach, on=True))
