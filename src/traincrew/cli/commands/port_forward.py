"""`traincrew port-forward`: forward ports of this machine to a replica of a job."""

from __future__ import annotations

import asyncio
import sys

import click

from traincrew.cli import cluster_target, completions, output_options, replica_options


@click.command("port-forward")
@click.argument("job", metavar="JOB", shell_complete=completions.jobs)
@click.argument("ports", nargs=-1, required=True, metavar="[LOCAL:]PORT...")
@replica_options.replica()
@click.option("--address", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Local address to listen on.")
@output_options.option()
@cluster_target.options
def port_forward(job: str, target_options: cluster_target.TargetOptions, **chosen: str) -> None:
    """Forward ports of this machine to ports of a replica, until Ctrl-C.

    :PORT selects a free local port. Programs on this machine that can reach the local port can reach the replica.

    \b
    traincrew port-forward mnist 8080
    traincrew port-forward mnist 9000:8080 --replica worker-1
    """
    from traincrew.cli.jobs import port_forward

    request = port_forward.PortForwardRequest(**chosen)  # type: ignore[arg-type]
    sys.exit(asyncio.run(port_forward.forward_ports(job, target_options, request)))
