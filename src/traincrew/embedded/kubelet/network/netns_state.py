"""State files of the netns daemon, in DATA/node."""

from __future__ import annotations

import json
import os
from typing import Any

from traincrew.embedded.kubelet.runtime.protocol import boot_id, process_start

PROTOCOL = 2
SOCKET, RECORD, ATTACHMENTS, ZONE, LOCK, LOG = (
    "netns.sock",
    "netns.json",
    "attachments.json",
    "zone.json",
    "netns.lock",
    "netns.log",
)

Record = dict[str, Any]


def read(path: str) -> Record:
    """The content; empty if the file does not exist or is damaged."""
    try:
        with open(path, "rb") as file:
            record = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def write(path: str, content: Record) -> None:
    """Writes atomically, but not durably: the processes do not survive a crash of the machine."""
    temporary = f"{path}.new"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(json.dumps(content, separators=(",", ":")).encode())
    os.rename(temporary, path)


def identity(pid: int) -> Record:
    return {"pid": pid, "started": process_start(pid), "boot": boot_id()}


def is_alive(record: Record) -> bool:
    """Whether that process still runs: not a later one with the same id, nor a zombie."""
    try:
        same = record["boot"] == boot_id() and process_start(int(record["pid"])) == record["started"]
        return bool(same and not _is_zombie(int(record["pid"])))
    except (OSError, KeyError, ValueError, IndexError):
        return False


def _is_zombie(pid: int) -> bool:
    """A zombie."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
