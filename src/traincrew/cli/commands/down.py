"""`traincrew down`: stop the cluster on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from traincrew import errors, settings
from traincrew.cli import duration, output_options
from traincrew.cli.local_cluster import shutdown
from traincrew.cli.render import serialization, terminal
from traincrew.embedded import data_directory

if TYPE_CHECKING:
    from traincrew.embedded.kubelet.pods import abandoned_pods


@click.command()
@click.option("--data", metavar="DIR", default="", help="Data directory of the cluster.")
@click.option("--leave-pods", is_flag=True, help="Leave the pods running. The next `traincrew up` adopts them.")
@click.option(
    "--grace",
    type=duration.Duration(),
    metavar="DURATION",
    help=f"Maximum grace period of the pods. Default: {duration.text(settings.Node.shutdown_grace)}.",
)
@output_options.option()
def down(data: str, leave_pods: bool, grace: float | None, form: str) -> None:
    """Stop the cluster on this machine. Its data is kept for the next `traincrew up`.

    The pods are stopped, as in a node shutdown. Their jobs continue after the next `traincrew up`, and the stop does not count
    as a failure. Pods and networks that a killed cluster has left running are stopped, too.

    \b
    traincrew down
    traincrew down --leave-pods
    traincrew down --grace 5
    """
    if leave_pods and grace is not None:
        raise errors.SettingsError("--grace cannot be used with --leave-pods, which stops no pods")
    directory = data_directory.DataDirectory(data_directory.data_directory(data))
    node = str((directory.running() or {}).get("node") or "")
    result: dict[str, object] = {"stopped": False, "data": str(directory.data), "node": node or None}
    pid = shutdown.running_process(directory)
    if pid:
        if grace is not None:
            _request_grace_period(directory, grace)
        shutdown.stop(directory, pid, leave_pods=leave_pods, grace=grace)
        result["stopped"] = True
    if form == "text":
        terminal.echo(_sentence(directory, bool(pid), leave_pods))
    if not leave_pods and (stopped := shutdown.stop_abandoned(directory, grace)) is not None:
        result |= {"abandonedPods": stopped.pods, "abandonedNetwork": stopped.network}
        _report_abandoned(stopped, form)
    if form in ("json", "yaml"):
        serialization.show(result, form)
    elif form == "name" and pid and node:
        terminal.echo(f"node/{node}")


def _sentence(directory: data_directory.DataDirectory, stopped: bool, leave_pods: bool) -> str:
    if not stopped:
        return f"No cluster is running in {directory.data}."
    pods = " Its pods keep running, and the next `traincrew up` adopts them." if leave_pods else ""
    return f"Cluster stopped.{pods} Its data is kept in {directory.data}."


def _request_grace_period(directory: data_directory.DataDirectory, grace: float) -> None:
    """On a full disk the cluster stops, too, with its own grace period."""
    try:
        directory.request_grace_period(grace)
    except OSError as error:
        terminal.echo(f"warning: --grace has no effect: cannot write to {directory.data}: {error.strerror or error}", err=True)


def _report_abandoned(stopped: abandoned_pods.StoppedPods, form: str) -> None:
    """Also after a cluster has stopped: its process may have been killed meanwhile."""
    pods = [f"{stopped.pods} pod{'' if stopped.pods == 1 else 's'}"] if stopped.pods else []
    if form == "text" and (parts := [*pods, *(["the pod network"] if stopped.network else [])]):
        terminal.echo(f"Stopped {' and '.join(parts)}, which had been left running.")
    if stopped.problems:
        raise errors.NotRunning(f"cannot stop every pod: {'; '.join(stopped.problems)}")
