"""What is known of the holder, beside its socket: who it is, and whom it has plugged in."""

from __future__ import annotations

import json
import os
from typing import Any

from traincrew.embedded.kubelet.runtime.protocol import boot_id, process_start

PROTOCOL = 1
SOCKET, RECORD, ATTACHMENTS, ZONE, LOCK, LOG = (
    "holder.sock",
    "holder.json",
    "plugs.json",
    "zone.json",
    "holder.lock",
    "holder.log",
)

Record = dict[str, Any]


def read(path: str) -> Record:
    """Empty if there is none, or none that can be read: then it is as if there had never been one."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write(path: str, content: Record) -> None:
    """Whole or not at all. Not synced: it tells of processes, and none of them outlives a crash of the machine."""
    beside = f"{path}.new"
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(json.dumps(content, separators=(",", ":")).encode())
    os.rename(beside, path)


def identity(pid: int) -> Record:
    return {"pid": pid, "started": process_start(pid), "boot": boot_id()}


def is_alive(found: Record) -> bool:
    """Whether it is still that process, not a later one of the same id, nor one of an earlier boot; nor what is left of it."""
    try:
        same = found["boot"] == boot_id() and process_start(int(found["pid"])) == found["started"]
        return bool(same and not _ended(int(found["pid"])))
    except (OSError, KeyError, ValueError, IndexError):
        return False


def _ended(pid: int) -> bool:
    """Its parent has not asked for its exit code yet."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
