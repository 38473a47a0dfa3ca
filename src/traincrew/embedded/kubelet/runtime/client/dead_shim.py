"""What a killed shim could not take away itself."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib

from traincrew.embedded.kubelet.runtime.cgroups.cgroups import Cgroup
from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import CgroupDirectory
from traincrew.embedded.kubelet.runtime.shim import lock

_SOCKET, _FACTS = "shim.sock", "shim.json"


def clean_up(directory: pathlib.Path) -> None:
    """directory: the pod's. Blocks while processes are being killed. Of a shim that lives nothing is touched."""
    if lock.is_held(str(directory)):
        return
    try:
        facts = json.loads((directory / _FACTS).read_bytes())
    except (OSError, ValueError):
        facts = {}
    group = Cgroup(
        tuple(CgroupDirectory(each, frozenset(), unified=False) for each in facts.get("groups", ()) if _is_of(each, directory))
    )
    group.kill()
    group.remove()
    group.remove_parents(int(facts.get("above", 0)))
    for path in (directory / _SOCKET, directory.parent.parent / "doors" / f"{directory.name}.sock", directory / _FACTS):
        with contextlib.suppress(OSError):
            path.unlink()


def _is_of(group: str, directory: pathlib.Path) -> bool:
    """Whatever stands in that file, no other group's processes are killed for it."""
    return os.path.basename(group) == directory.name
