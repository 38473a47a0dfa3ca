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
@click.option("--data", metavar="DIR", default="", help="Where the cluster keeps everything.")
@click.option("--leave-pods", is_flag=True, help="Pods run on; the next `traincrew up` takes them over.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="What pods get to end, at most; default: 10.",
)
def down(data: str, leave_pods: bool, grace: float | None) -> None:
    """Stop the cluster of this machine. What it holds is kept for the next `traincrew up`.

    Pods are ended with it, as when a node is switched off: their jobs go on with the next `up`, and nobody is charged with a
    failure.
    """
    if leave_pods and grace is not None:
        raise errors.SettingsError("--grace is for pods that are ended: it has no meaning with --leave-pods")
    where = data_directory.DataDirectory(data_directory.data_directory(data))
    pid = _holder(where)
    if pid <= 0:
        click.echo(f"no cluster runs on {where.data}")
        return
    try:
        if grace is not None:
            where.ask_for_grace(grace)
        os.kill(pid, signal.SIGUSR1 if leave_pods else signal.SIGTERM)
    except ProcessLookupError:
        pass
    except PermissionError:
        raise errors.NotRunning(f"process {pid} runs the cluster and belongs to another user") from None
    patience = PATIENCE + (grace or 0.0)
    deadline = time.monotonic() + patience
    while where.holder() == pid:
        if time.monotonic() > deadline:
            raise errors.NotRunning(f"process {pid} has not ended after {patience:.0f} s; see {where.log}")
        time.sleep(0.02)
    left = "; its pods run on, and the next `traincrew up` takes them over" if leave_pods else ""
    click.echo(f"stopped{left}; everything is kept in {where.data}")


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
