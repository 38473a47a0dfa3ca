"""The Python processes of a pod of the cluster on this machine, seen from the host."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from traincrew.embedded.kubelet.runtime.shim import lock

_PYTHON = re.compile(r"python[\d.]*")
_KUBELET = "traincrew.embedded.kubelet."
PROC = pathlib.Path("/proc")


class PodProcess(NamedTuple):
    pid: int
    """On the host."""
    container_pid: int
    command: str


def python_processes(data: pathlib.Path, uid: str) -> list[PodProcess]:
    """Python processes of the pod, parents first. Empty if the pod has none or does not run."""
    shim = lock.owner(os.fspath(data / "node" / "pods" / uid))
    if shim is None:
        return []
    return [process for pid in _descendants(shim) if (process := _python_process(pid)) is not None]


def _descendants(root: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal() and (parent := _status(int(entry.name)).get("PPid")):
            children.setdefault(int(parent), []).append(int(entry.name))
    pending = [root]
    while pending:
        found = sorted(children.get(pending.pop(0), ()))
        yield from found
        pending += found


def _python_process(pid: int) -> PodProcess | None:
    with contextlib.suppress(OSError):
        words = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
        program = os.path.basename(os.readlink(PROC / str(pid) / "exe"))
        command = " ".join(words).strip()
        # The init process of a container is Python, too, and so are the commands that the kubelet brings, such as kubectl.
        if _PYTHON.fullmatch(program) and _KUBELET not in command:
            return PodProcess(pid, int((_status(pid).get("NSpid") or str(pid)).split()[-1]), command)
    return None


def _status(pid: int) -> dict[str, str]:
    try:
        lines = (PROC / str(pid) / "status").read_text(errors="replace").splitlines()
    except OSError:  # it has ended
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
