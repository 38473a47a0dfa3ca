"""The processes of a pod, seen from the host."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal

from tests.cluster.api import Object, eventually
from tests.node.local_cluster import LocalCluster


def commands(machine: LocalCluster, pod: Object) -> list[int]:
    """The first process of each container: the child of the shim."""
    shim = json.loads((machine.data / "node" / "pods" / pod["metadata"]["uid"] / "shim.json").read_text())["pid"]
    return [child for init in _children(shim) if _is_first(init) for child in _children(init)]


def send(machine: LocalCluster, pod: Object, number: signal.Signals) -> None:
    """Signal the command of the only container. Waits for its start."""
    (command,) = eventually(lambda: commands(machine, pod))
    os.kill(command, number)


def _children(pid: int) -> list[int]:
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_first(pid: int) -> bool:
    return re.search(r"^NSpid:.*\s1$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE) is not None


def lives(pid: int) -> bool:
    return pathlib.Path(f"/proc/{pid}").exists()
