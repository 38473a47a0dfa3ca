"""Forks of a single-threaded process."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable

from traincrew.embedded.kubelet.runtime import syscalls


def fork_child(body: Callable[[], None], cgroup: int = -1) -> int:
    """Forks a process that runs `body` and exits.

    cgroup: the open directory of a cgroup v2 to start in. Kernels before 5.7 start the process in its parent's cgroup.
    """
    pid = _fork(cgroup)
    if pid:
        return pid
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        body()
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _fork(cgroup: int) -> int:
    if cgroup >= 0:
        with contextlib.suppress(OSError):
            return syscalls.fork_into(cgroup)
    return os.fork()


def fork_grandchild(enter: Callable[[], None], body: Callable[[], None], cgroup: int = -1) -> int:
    """Forks a process that starts in the namespaces that `enter` enters; see `fork_child`.

    setns to a PID namespace affects children only and, in a user namespace, cannot be undone. So an intermediate process
    enters and exits. The caller is a child subreaper and becomes the parent.
    """
    reading, writing = os.pipe2(os.O_CLOEXEC)

    def intermediate() -> None:
        try:
            enter()
            outcome = str(fork_child(body, cgroup))
        except OSError as error:
            outcome = f"{-(error.errno or 1)} {error.strerror}"
        os.write(writing, outcome.encode())

    intermediate_pid = fork_child(intermediate)
    os.close(writing)
    with open(reading, "rb") as pipe:
        number, _, message = pipe.read().decode().partition(" ")
    os.waitpid(intermediate_pid, 0)
    if int(number or -1) < 0:
        raise OSError(-int(number or -1), message or "fork")
    return int(number)


def close_other_descriptors(descriptors: Iterable[int]) -> None:
    """Closes all descriptors above 2 that are not listed."""
    first = 3
    for kept in sorted(set(descriptors)):
        if kept > first:
            syscalls.close_range(first, kept - 1)
        first = max(first, kept + 1)
    syscalls.close_range(first)
