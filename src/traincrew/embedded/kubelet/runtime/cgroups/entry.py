"""Open ways into a group, one for each hierarchy, by which a process goes in that is about to become a container's command.

To move a whole process the kernel stops all that fork or end, on the whole machine, which takes it ten milliseconds and more.
It need not for a single thread that moves itself, as it can in the old hierarchies, nor for a process that is born in its group.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import CgroupDirectory


def open_entry(part: CgroupDirectory) -> int:
    """Of an old hierarchy the file that threads are written to, of the unified one the directory."""
    if part.unified:
        return os.open(part.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return os.open(f"{part.directory}/tasks", os.O_WRONLY | os.O_CLOEXEC)


def clone_target(ways: Sequence[int]) -> int:
    """The group to be born in; -1 if there is no unified one."""
    return next((way for way in ways if _unified(way)), -1)


def join(ways: Sequence[int]) -> None:
    """Called by a process of one thread."""
    for way in ways:
        if not _unified(way):
            os.write(way, b"0")
        elif not _within(way):
            _write(way)


def directory(way: int) -> str:
    """Where it leads to; while the host's files are in sight."""
    found = os.readlink(f"/proc/self/fd/{way}")
    return found if _unified(way) else os.path.dirname(found)


def _unified(way: int) -> bool:
    return stat.S_ISDIR(os.fstat(way).st_mode)


def _within(way: int) -> bool:
    """Others' processes have the number 0 here, if they are of other PID namespaces."""
    with open(os.open("cgroup.procs", os.O_RDONLY | os.O_CLOEXEC, dir_fd=way), "rb") as file:
        return str(os.getpid()).encode() in file.read().split()


def _write(way: int) -> None:
    descriptor = os.open("cgroup.procs", os.O_WRONLY | os.O_CLOEXEC, dir_fd=way)
    try:
        os.write(descriptor, b"0")
    finally:
        os.close(descriptor)
