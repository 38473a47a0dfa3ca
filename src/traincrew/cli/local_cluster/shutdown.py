"""Stops the cluster on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from traincrew import errors, settings
from traincrew.embedded import data_directory
from traincrew.embedded.kubelet.network import netns_discovery
from traincrew.embedded.kubelet.runtime.shim import lock

if TYPE_CHECKING:
    from traincrew.embedded.kubelet.pods import abandoned_pods

STOP_TIMEOUT = 45.0
"""Seconds that the cluster may take to stop, in addition to the grace period of the pods."""
KILL_TIMEOUT = 10.0
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


def stop_abandoned(directory: data_directory.DataDirectory, grace: float | None) -> abandoned_pods.StoppedPods | None:
    """Stop the pods and the network of a cluster whose process was killed. None: none are left, or a cluster is starting."""
    with _locked(directory) as free:
        if not free or not _is_abandoned(directory):
            return None
        from traincrew.embedded.kubelet.pods import abandoned_pods  # takes a second

        return asyncio.run(abandoned_pods.stop(directory.data, settings.Node().shutdown_grace if grace is None else grace))


def _is_abandoned(directory: data_directory.DataDirectory) -> bool:
    """Whether the network or a shim runs, or a shim was killed, whose processes may run."""
    node = directory.data / "node"
    pods = list(node.glob("pods/*/"))
    return netns_discovery.has_files(node) or any((pod / "shim.json").exists() or lock.is_held(str(pod)) for pod in pods)


@contextlib.contextmanager
def _locked(directory: data_directory.DataDirectory) -> Iterator[bool]:
    """Holds the locks of a cluster and of a node, which start no pods meanwhile. Yields False if another process has one."""
    with contextlib.ExitStack() as stack:
        for name in ("cluster.db.lock", "node.lock"):
            try:
                descriptor = os.open(directory.data / name, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
        yield True


def stop(directory: data_directory.DataDirectory, pid: int, *, leave_pods: bool, grace: float | None) -> None:
    """Signal the process and wait until it has ended. A process that does not end in time is killed: no data is lost."""
    try:
        os.kill(pid, signal.SIGUSR1 if leave_pods else signal.SIGTERM)
    except ProcessLookupError:
        pass
    except PermissionError:
        raise errors.NotRunning(f"cannot stop the cluster: process {pid} belongs to another user") from None
    if _has_ended(directory, pid, STOP_TIMEOUT + (grace or 0.0)):
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    if not _has_ended(directory, pid, KILL_TIMEOUT):
        raise errors.NotRunning(f"process {pid} is still running after it was killed. See {directory.log}.")


def _has_ended(directory: data_directory.DataDirectory, pid: int, seconds: float) -> bool:
    """-1: the process is being killed and has the lock until its last thread has ended, or the next process starts."""
    deadline = time.monotonic() + seconds
    while directory.owner_pid() in (pid, -1):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_INTERVAL)
    return True
