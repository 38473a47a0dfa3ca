"""Ends all processes of a pod without the help of its shim, which is gone or does not answer."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import time
from collections.abc import Callable, Iterable
from typing import Any

from traincrew.embedded import process_identity
from traincrew.embedded.kubelet.runtime.cgroups.cgroups import Cgroup
from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import CgroupDirectory
from traincrew.embedded.kubelet.runtime.container.supervisor import descendants
from traincrew.embedded.kubelet.runtime.shim import exec_socket, lock

_SOCKET, _STATE_FILE = "shim.sock", "shim.json"
_GRACE_SECONDS = 1.0
"""An init process whose shim is gone kills its container and exits by itself."""
_KILL_SECONDS = 20.0
"""A process that writes to a busy disk ends only when the write has."""
_PAUSE = 0.002


class ProcessesLeft(OSError):
    """Processes of the pod live on: the pod has not ended."""


def has_shim(directory: pathlib.Path) -> bool:
    return lock.is_held(str(directory))


def end(directory: pathlib.Path) -> None:
    """Kills the shim and the containers of the pod, then removes its cgroups and sockets. Blocks. Raises ProcessesLeft."""
    _kill_shim(directory)
    inits = [pid for path in directory.glob("containers/*/*/init.json") if (pid := _living(path))]
    if not _wait_until(lambda: not any(map(process_identity.is_running, inits)), _GRACE_SECONDS):
        for pid in filter(process_identity.is_running, inits):
            _kill([*descendants(pid), pid])
    state = _read(directory / _STATE_FILE)
    group = _cgroup(state, directory)
    killed = group.kill()
    if not _wait_until(lambda: not any(map(process_identity.is_running, inits)), _KILL_SECONDS) or not killed:
        left = sorted({*filter(process_identity.is_running, inits), *group.processes()})
        raise ProcessesLeft(f"processes of pod {directory.name} cannot be killed: {left[:10]}")
    group.remove()
    group.remove_parents(int(state.get("above", 0)))
    for path in (
        directory / _SOCKET,
        pathlib.Path(exec_socket.path(str(directory))),
        directory / _STATE_FILE,
    ):
        with contextlib.suppress(OSError):
            path.unlink()


def _kill_shim(directory: pathlib.Path) -> None:
    if (shim := lock.owner(str(directory))) is None:
        return
    if shim > 0:  # else it is a process of another PID namespace
        _kill([shim])
    if not _wait_until(lambda: lock.owner(str(directory)) != shim, _KILL_SECONDS):
        raise ProcessesLeft(f"the shim of pod {directory.name} cannot be killed: process {shim}")


def _living(path: pathlib.Path) -> int:
    """The process id of the init process of a container, which the shim has recorded; 0: it has ended."""
    record = _read(path)
    return int(record["pid"]) if process_identity.is_alive(record) else 0


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (reached := condition()) and time.monotonic() < until:
        time.sleep(_PAUSE)
    return reached


def _read(path: pathlib.Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _cgroup(state: dict[str, Any], directory: pathlib.Path) -> Cgroup:
    """Whatever the file says, processes of other cgroups are not killed."""
    own = [each for each in state.get("groups", ()) if os.path.basename(each) == directory.name]
    return Cgroup(tuple(CgroupDirectory(each, frozenset(), unified=False) for each in own))
