"""`traincrew resume`."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import reach, suspending


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@reach.options
def resume(jobs: tuple[str, ...], reach: reach.Reach) -> None:
    """Start suspended jobs again.

    \b
    traincrew resume mnist
    """
    asyncio.run(suspending.suspend(jobs, reach, on=False))
