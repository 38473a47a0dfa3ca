"""`traincrew resume`."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import target
from traincrew.cli.jobs import suspension


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@target.options
def resume(jobs: tuple[str, ...], reach: target.TargetOptions) -> None:
    """Resume suspended jobs.

    \b
    traincrew resume mnist
    """
    asyncio.run(suspension.suspend(jobs, reach, on=False))
