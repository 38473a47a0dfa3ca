"""`traincrew down`: stop the cluster on this machine."""

from __future__ import annotations

import click

from traincrew import errors
from traincrew.cli.local_cluster import shutdown
from traincrew.cli.render import terminal
from traincrew.embedded import data_directory


@click.command()
@click.option("--data", metavar="DIR", default="", help="Data directory of the cluster.")
@click.option("--leave-pods", is_flag=True, help="Leave the pods running. The next `traincrew up` adopts them.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Maximum grace period of the pods. Default: 10.",
)
def down(data: str, leave_pods: bool, grace: float | None) -> None:
    """Stop the cluster on this machine. Its data is kept for the next `traincrew up`.

    The pods are stopped, as in a node shutdown. Their jobs continue after the next `traincrew up`, and the stop does not count
    as a failure. Pods and networks that a killed cluster has left running are stopped, too.
    """
    if leave_pods and grace is not None:
        raise errors.SettingsError("--grace cannot be used with --leave-pods, which stops no pods")
    directory = data_directory.DataDirectory(data_directory.data_directory(data))
    pid = shutdown.running_process(directory)
    if pid:
        if grace is not None:
            _request_grace_period(directory, grace)
        shutdown.stop(directory, pid, leave_pods=leave_pods, grace=grace)
        pods = " Its pods keep running, and the next `traincrew up` adopts them." if leave_pods else ""
        terminal.echo(f"Cluster stopped.{pods} Its data is kept in {directory.data}.")
    else:
        terminal.echo(f"No cluster is running in {directory.data}.")
    if not leave_pods:
        _stop_abandoned(directory, grace)


def _request_grace_period(directory: data_directory.DataDirectory, grace: float) -> None:
    """On a full disk the cluster stops, too, with its own grace period."""
    try:
        directory.request_grace_period(grace)
    except OSError as error:
        terminal.echo(f"warning: --grace has no effect: cannot write to {directory.data}: {error.strerror or error}", err=True)


def _stop_abandoned(directory: data_directory.DataDirectory, grace: float | None) -> None:
    """Also after a cluster has stopped: its process may have been killed meanwhile."""
    stopped = shutdown.stop_abandoned(directory, grace)
    if stopped is None:
        return
    pods = [f"{stopped.pods} pod{'' if stopped.pods == 1 else 's'}"] if stopped.pods else []
    if parts := [*pods, *(["the pod network"] if stopped.network else [])]:
        terminal.echo(f"Stopped {' and '.join(parts)}, which had been left running.")
    if stopped.problems:
        raise errors.NotRunning(f"cannot stop every pod: {'; '.join(stopped.problems)}")
