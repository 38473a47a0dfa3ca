"""State files of the netns daemon, in DATA/node."""

from __future__ import annotations

import json
import os
from typing import Any

from traincrew.embedded.kubelet.runtime import protocol

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
    directory = os.open(os.path.dirname(path) or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        data = json.dumps(content, separators=(",", ":")).encode()
        protocol.write_atomically(directory, os.path.basename(path), data, durable=False)
    finally:
        os.close(directory)
