"""What a container uses where no control group counts it: the sum over its processes."""

from __future__ import annotations

import os

from traincrew.embedded.kubelet.runtime.container.init import descendants

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def sum_usage(roots: list[int]) -> dict[str, float | int]:
    """Of these and their descendants, without what is only there to look after others.

    CPU of those that have ended counts once their parents have reaped them.
    """
    ticks = pages = count = 0
    for pid in {each for root in roots for each in (root, *descendants(root)) if not _looks_after(each)}:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        ticks += sum(int(each) for each in fields[11:15])
        pages += int(fields[21])
        count += 1
    return {"cpu_seconds": ticks / _TICKS, "memory_bytes": pages * _PAGE, "pids": count}


def _looks_after(pid: int) -> bool:
    """Whether this is a first process of ours still, and not the command that it became: they have our command line."""
    return _command(pid) == _command(os.getpid())


def _command(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
