"""Stops the cluster on this machine."""

from __future__ import annotations

import os
import signal
import time

from traincrew import errors
from traincrew.embedded import data_directory

STOP_TIMEOUT = 45.0
"""Seconds that the cluster may take to stop, in addition to the grace period of the pods."""
SETTLE_TIMEOUT = 10.0
"""Seconds in which a process that has taken the lock writes its process ID. On a busy disk, a write may take seconds."""
POLL_INTERVAL = 0.02


def running_process(directory: data_directory.DataDirectory) -> int:
    """The process that runs the cluster, 0 if there is none.

    A cluster that is starting takes the lock shortly before it writes its process ID, so two equal reads are required.
    """
    before = directory.owner_pid()
    deadline = time.monotonic() + SETTLE_TIMEOUT
    while before:
        time.sleep(0.05)
        if (pid := directory.owner_pid()) == before > 0:
            return pid
        before = pid
        if time.monotonic() > deadline:
            raise errors.NotRunning(
                f"cannot stop the cluster: the process that uses {directory.data} is not known. "
                "If it runs in another container, run `traincrew down` there."
            )
    return 0


def stop(directory: data_directory.DataDirectory, pid: int, *, leave_pods: bool, grace: float | None) -> None:
    """Signal the process and wait until it has ended."""
    try:
        if grace is not None:
            directory.request_grace_period(grace)
        os.kill(pid, signal.SIGUSR1 if leave_pods else signal.SIGTERM)
    except ProcessLookupError:
        pass
    except PermissionError:
        raise errors.NotRunning(f"cannot stop the cluster: process {pid} belongs to another user") from None
    timeout = STOP_TIMEOUT + (grace or 0.0)
    deadline = time.monotonic() + timeout
    while directory.owner_pid() == pid:
        if time.monotonic() > deadline:
            raise errors.NotRunning(f"process {pid} is still running after {timeout:.0f} s. See {directory.log}.")
        time.sleep(POLL_INTERVAL)
