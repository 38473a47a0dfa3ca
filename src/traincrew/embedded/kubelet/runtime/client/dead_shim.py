"""Cleanup after a shim that was killed."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib

from traincrew.embedded.kubelet.runtime.cgroups.cgroups import Cgroup
from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import CgroupDirectory
from traincrew.embedded.kubelet.runtime.shim import lock

_SOCKET, _STATE_FILE = "shim.sock", "shim.json"


def clean_up(directory: pathlib.Path) -> None:
    """Kills the pod's processes and removes its cgroups and sockets. Does nothing while the shim lives. Blocks."""
    if lock.is_held(str(directory)):
        return
    try:
        state = json.loads((directory / _STATE_FILE).read_bytes())
    except (OSError, ValueError):
        state = {}
    group = Cgroup(
        tuple(
            CgroupDirectory(each, frozenset(), unified=False) for each in state.get("groups", ()) if _belongs_to(each, directory)
        )
    )
    group.kill()
    group.remove()
    group.remove_parents(int(state.get("above", 0)))
    for path in (directory / _SOCKET, directory.parent.parent / "doors" / f"{directory.name}.sock", directory / _STATE_FILE):
        with contextlib.suppress(OSError):
            path.unlink()


def _belongs_to(group: str, directory: pathlib.Path) -> bool:
    """Whatever the file says, processes of other cgroups are not killed."""
    return os.path.basename(group) == directory.name
