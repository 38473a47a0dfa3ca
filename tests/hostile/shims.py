"""The shim of a pod, as the attacked process: its descriptors, its memory, and its connection to the daemon."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import re
import socket
import struct

from tests.hostile.hostile_cluster import HostileCluster

_PIDFD_GETFD = 438


def shim_directory(cluster: HostileCluster, name: str) -> pathlib.Path:
    return cluster.data / "node/pods" / str(cluster.pod(name)["metadata"]["uid"])


def shim_pid(cluster: HostileCluster, name: str) -> int:
    return int(json.loads((shim_directory(cluster, name) / "shim.json").read_text())["pid"])


def exec_socket(cluster: HostileCluster, name: str) -> pathlib.Path:
    return cluster.data / "node/exec" / f"{cluster.pod(name)['metadata']['uid']}.sock"


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def peak_memory(pid: int) -> int:
    """The highest resident memory so far, in bytes."""
    found = re.search(r"^VmHWM:\s+(\d+) kB$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def break_connection(daemon: int, shim: int) -> None:
    """Ends the connection between the daemon and a shim that it has adopted, while both live."""
    libc, pidfd = ctypes.CDLL(None, use_errno=True), os.pidfd_open(daemon)
    broken = 0
    for number in os.listdir(f"/proc/{daemon}/fd"):
        copy = libc.syscall(_PIDFD_GETFD, pidfd, int(number), 0)
        if copy >= 0 and _is_connected_to(copy, shim):
            with socket.socket(fileno=os.dup(copy)) as sock:
                sock.shutdown(socket.SHUT_RDWR)
            broken += 1
        if copy >= 0:
            os.close(copy)
    os.close(pidfd)
    assert broken, "the daemon has no connection to the shim"


def _is_connected_to(descriptor: int, pid: int) -> bool:
    try:
        if not os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:"):
            return False
        with socket.socket(fileno=os.dup(descriptor)) as sock:
            peer, _, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            return sock.family == socket.AF_UNIX and peer == pid
    except OSError:
        return False
