"""`traincrew logs`: what a job's replicas have written."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from traincrew.cli import target


@click.command()
@click.argument("job", metavar="JOB")
@click.option("-f", "--follow", is_flag=True, help="Go on as lines come, until the job has ended.")
@click.option("--replica", metavar="NAME", default="", help="Only this one, such as worker-1, or all of a role: worker.")
@click.option("-c", "--container", metavar="NAME", default="", help="Only this container; default: all but init containers.")
@click.option("--since", metavar="TIME", default="", help="Only lines since then: 90s, 5m, 1h30m, 2d, or a moment in RFC 3339.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="Only the last N lines of each replica.")
@click.option("-p", "--previous", is_flag=True, help="Of the run before the last restart of the container.")
@click.option("--timestamps", is_flag=True, help="With the time before each line.")
@click.option("--prefix/--no-prefix", default=None, help="The replica's name before each line; default: if there are several.")
@target.options
def logs(job: str, reach: target.TargetOptions, **chosen: Any) -> None:
    """Show the logs of a job's replicas, in the order of time.

    On the cluster of this machine that includes pods and runs that are gone, and jobs that are deleted, for as long as logs are
    kept.

    \b
    traincrew logs mnist
    traincrew logs mnist -f --replica worker-1
    traincrew logs mnist --since 5m --tail 100
    traincrew logs mnist --previous
    """
    from traincrew.cli.jobs import log_read

    asyncio.run(log_read.show(job, reach, log_read.Request(**chosen)))
