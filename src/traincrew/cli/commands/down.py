"""`traincrew down`: stops the cluster of this machine."""

from __future__ import annotations

import os
import signal
import time

import click

from traincrew import errors
from traincrew.embedded import data_directory

PATIENCE = 45.0
"""Seconds that the cluster may take to stop, beside those that pods are given."""
SETTLING = 2.0


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
    as a failure.
    """
    if leave_pods and grace is not None:
        raise errors.SettingsError("--grace cannot be used with --leave-pods, which stops no pods")
    where = data_directory.DataDirectory(data_directory.data_directory(data))
    pid = _holder(where)
    if pid <= 0:
        click.echo(f"No cluster is running in {where.data}.")
        return
    try:
        if grace is not None:
            where.ask_for_grace(grace)
        os.kill(pid, signal.SIGUSR1 if leave_pods else signal.SIGTERM)
    except ProcessLookupError:
        pass
    except PermissionError:
        raise errors.NotRunning(f"cannot stop the cluster: process {pid} belongs to another user") from None
    patience = PATIENCE + (grace or 0.0)
    deadline = time.monotonic() + patience
    while where.holder() == pid:
        if time.monotonic() > deadline:
            raise errors.NotRunning(f"process {pid} is still running after {patience:.0f} s. See {where.log}.")
        time.sleep(0.02)
    left = " Its pods keep running, and the next `traincrew up` adopts them." if leave_pods else ""
    click.echo(f"Cluster stopped.{left} Its data is kept in {where.data}.")


def _holder(where: data_directory.DataDirectory) -> int:
    """Looked at twice: a cluster that is just starting has the lock a moment before its number stands there."""
    before = where.holder()
    deadline = time.monotonic() + SETTLING
    while before and time.monotonic() < deadline:
        time.sleep(0.05)
        if (pid := where.holder()) == before > 0:
            return pid
        before = pid
    return before
