"""Open entries of a cgroup, one for each hierarchy, with which a process joins the cgroup before its execve.

To move a process, the kernel stops every fork and exit on the machine, which takes ten milliseconds and more. It does not for a
single thread that moves itself (cgroup v1), nor for a process that is created in its cgroup (cgroup v2, clone3).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import CgroupDirectory


def open_entry(part: CgroupDirectory) -> int:
    """In cgroup v1 the file `tasks`, in cgroup v2 the directory."""
    if part.unified:
        return os.open(part.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return os.open(f"{part.directory}/tasks", os.O_WRONLY | os.O_CLOEXEC)


def clone_target(entries: Sequence[int]) -> int:
    """The cgroup v2 directory for clone3; -1: there is none."""
    return next((entry for entry in entries if _unified(entry)), -1)


def join(entries: Sequence[int]) -> None:
    """Moves this process, which must have one thread, into the cgroup."""
    for entry in entries:
        if not _unified(entry):
            os.write(entry, b"0")
        elif not _is_member(entry):
            _write(entry)


def directory(entry: int) -> str:
    """The directory of the cgroup. Works while the host's root is visible."""
    found = os.readlink(f"/proc/self/fd/{entry}")
    return found if _unified(entry) else os.path.dirname(found)


def _unified(entry: int) -> bool:
    return stat.S_ISDIR(os.fstat(entry).st_mode)


def _is_member(entry: int) -> bool:
    """Processes of other PID namespaces are listed as 0."""
    with open(os.open("cgroup.procs", os.O_RDONLY | os.O_CLOEXEC, dir_fd=entry), "rb") as file:
        return str(os.getpid()).encode() in file.read().split()


def _write(entry: int) -> None:
    descriptor = os.open("cgroup.procs", os.O_WRONLY | os.O_CLOEXEC, dir_fd=entry)
    try:
        os.write(descriptor, b"0")
    finally:
        os.close(descriptor)
