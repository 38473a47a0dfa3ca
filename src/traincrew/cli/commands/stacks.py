"""`traincrew stacks`: show the Python stacks of the replicas of a job."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from traincrew.cli import cluster_target, completions, output_options, replica_options


@click.command()
@click.argument("job", metavar="[JOB]", default="", shell_complete=completions.jobs)
@replica_options.replica("Show only this replica, such as worker-1, or all replicas of a role, such as worker.")
@replica_options.container()
@click.option(
    "--image",
    metavar="NAME",
    default="",
    shell_complete=completions.images,
    help="Run py-spy of this image in an ephemeral container of each pod. The container stays in the status of the pod.",
)
@click.option(
    "--signal",
    metavar="NAME",
    default="",
    help="Send this signal (USR1 or USR2), for which the program has registered `faulthandler`, and show the stacks in its log.",
)
@output_options.option()
@cluster_target.options
def stacks(job: str, target_options: cluster_target.TargetOptions, **chosen: Any) -> None:
    """Show the Python stacks of the processes of a job's replicas. Without JOB: of the job that was created last.

    py-spy reads the stacks; the program need not be changed. On the cluster of this machine it runs on this machine
    (`pip install py-spy`). On another cluster it runs in the container, which needs py-spy and the capability SYS_PTRACE, or in
    an ephemeral container (--image).

    \b
    traincrew stacks mnist
    traincrew stacks mnist --replica worker-1
    traincrew stacks mnist --signal USR1
    """
    from traincrew.cli.jobs import stacks

    sys.exit(asyncio.run(stacks.show(job, target_options, stacks.StacksRequest(**chosen))))
