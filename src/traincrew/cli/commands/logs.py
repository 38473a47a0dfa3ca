"""`traincrew logs`: print the logs of a job."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from traincrew.cli import cluster_target, completions, output_options, recording_options, replica_options
from traincrew.cli.whole_number import WholeNumber


@click.command()
@click.argument("job", metavar="[JOB]", default="", shell_complete=completions.jobs)
@click.option("-f", "--follow", is_flag=True, help="Stream new lines until the job ends.")
@replica_options.replica("Print only this replica, such as worker-1, or all replicas of a role, such as worker.")
@replica_options.container("Print only this container. Default: all containers except init containers.")
@click.option(
    "--since",
    metavar="TIME",
    default="",
    help="Print only lines after TIME: an age such as 90s, 5m, 1h30m or 2d, or an RFC 3339 time.",
)
@click.option("--tail", type=WholeNumber(0), metavar="N", help="Print only the last N lines of each replica.")
@click.option("-p", "--previous", is_flag=True, help="Print the logs of the previous run of each container.")
@click.option("--timestamps", is_flag=True, help="Print a timestamp before each line.")
@click.option(
    "--prefix/--no-prefix", default=None, help="Print the replica's name before each line. Default: only with several replicas."
)
@recording_options.recording
@output_options.option()
@cluster_target.options_with_history
def logs(job: str, target_options: cluster_target.HistoryTargetOptions, **chosen: Any) -> None:
    """Print the logs of a job's replicas, sorted by time. Without JOB: of the job that was created last.

    On the cluster of this machine this includes earlier container runs, deleted pods and deleted jobs while their logs are kept.
    -o json prints one JSON object for each line, -o name the names of the pods.

    \b
    traincrew logs mnist
    traincrew logs mnist -f --replica worker-1
    traincrew logs mnist --since 5m --tail 100
    traincrew logs mnist --previous
    traincrew logs mnist -o json
    traincrew logs --recording mnist.recording.jsonl.gz
    """
    from traincrew.cli.jobs import log_printer, log_sources

    asyncio.run(log_printer.print_logs(job, target_options, log_sources.LogRequest(**chosen)))
