"""CPU and memory of a container without a cgroup: the sum over its processes."""

from __future__ import annotations

import os

from traincrew.embedded.kubelet.runtime.container.supervisor import descendants

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def sum_usage(roots: list[int]) -> dict[str, float | int]:
    """Usage of these processes and their descendants, without the init processes of the runtime.

    The CPU time of an ended process counts once its parent has reaped it.
    """
    ticks = pages = count = 0
    for pid in {each for root in roots for each in (root, *descendants(root)) if not _is_runtime_process(each)}:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        ticks += sum(int(each) for each in fields[11:15])
        pages += int(fields[21])
        count += 1
    return {"cpu_seconds": ticks / _TICKS, "memory_bytes": pages * _PAGE, "pids": count}


def _is_runtime_process(pid: int) -> bool:
    """Whether this is an init process of the runtime: until its execve a process has the shim's command line."""
    return _command_line(pid) == _command_line(os.getpid())


def _command_line(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
