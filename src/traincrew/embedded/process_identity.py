"""Identity of processes beyond their ids, which the kernel uses again. Standard library only, for shims and the netns daemon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def of(pid: int | str) -> dict[str, Any]:
    """What identifies a process, to be written to a file."""
    return {"pid": pid, "started": start_time(pid), "boot": boot_id()}


def is_alive(record: Mapping[str, Any]) -> bool:
    """Whether that process still runs: not a later one with the same id, nor a zombie."""
    try:
        same = record["boot"] == boot_id() and start_time(int(record["pid"])) == record["started"]
        return bool(same and is_running(int(record["pid"])))
    except (OSError, KeyError, ValueError, TypeError, IndexError):
        return False


def is_running(pid: int | str) -> bool:
    """A zombie does not run: it waits for its parent only."""
    try:
        return _fields(pid)[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def start_time(pid: int | str = "self") -> int:
    """In clock ticks since boot. It distinguishes a process from a later one with the same id."""
    return int(_fields(pid)[19])


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _fields(pid: int | str) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()
