"""Netns daemons of earlier releases, which run until their cluster stops: their files and their protocol, version 1."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Any

from traincrew.embedded.kubelet.network import netns_state

PROTOCOL = 1
SOCKET, RECORD, ATTACHMENTS, LOCK, LOG = "holder.sock", "holder.json", "plugs.json", "holder.lock", "holder.log"
_OPERATIONS = {"attach": "plug", "detach": "unplug"}


def to_request(request: dict[str, Any]) -> dict[str, Any]:
    """The request of this release in the words of version 1."""
    operation = request.pop("op")
    return {**request, "ask": _OPERATIONS.get(operation, operation)}


def from_reply(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply of version 1 in the words of this release."""
    if "refused" in reply:
        return {"error": reply["refused"], "errno": reply.get("errno", 0)}
    result = dict(reply.get("done") or {})
    if "plugs" in result:
        result["attachments"] = result.pop("plugs")
    return {"result": result}


def take_over_files() -> bool:
    """Gives the files of a netns daemon that was killed their present names. False: it still runs.

    The files are in the working directory. The lock file is removed last, so that an interrupted call is repeated.
    """
    try:
        lock = os.open(LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for former, present in ((RECORD, netns_state.RECORD), (ATTACHMENTS, netns_state.ATTACHMENTS)):
            with contextlib.suppress(FileNotFoundError):
                os.rename(former, present)
        for name in (SOCKET, LOG, LOCK):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
