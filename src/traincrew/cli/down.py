"""`traincrew down`: stops the cluster of this machine."""

from __future__ import annotations

import os
import signal
import time

import click

from traincrew import errors, place

PATIENCE = 30.0
SETTLING = 2.0


@click.command()
@click.option("--data", metavar="DIR", default="", help="Where the cluster keeps everything.")
def down(data: str) -> None:
    """Stop the cluster of this machine. What it holds is kept for the next `traincrew up`."""
    where = place.Place(place.data_directory(data))
    pid = _holder(where)
    if pid <= 0:
        click.echo(f"no cluster runs on {where.data}")
        return
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    except PermissionError:
        raise errors.NotRunning(f"process {pid} runs the cluster and belongs to another user") from None
    deadline = time.monotonic() + PATIENCE
    while where.holder() == pid:
        if time.monotonic() > deadline:
            raise errors.NotRunning(f"process {pid} has not ended after {PATIENCE:.0f} s; see {where.log}")
        time.sleep(0.02)
    click.echo(f"stopped; everything is kept in {where.data}")


def _holder(where: place.Place) -> int:
    """Looked at twice: a cluster that is just starting has the lock a moment before its number stands there."""
    before = where.holder()
    deadline = time.monotonic() + SETTLING
    while before and time.monotonic() < deadline:
        time.sleep(0.05)
        if (pid := where.holder()) == before > 0:
            return pid
        before = pid
    return before
