"""Network namespaces of a cluster and its pods. The kernel's cookie identifies each one: inode numbers are used again."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

_COOKIE = """import ctypes, os, socket, sys
libc, process = ctypes.CDLL(None), sys.argv[1]
for kind, flag in (("user", 0x10000000), ("net", 0x40000000)):
    if (kind == "net" or os.geteuid()) and libc.setns(os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY), flag):
        sys.exit(1)
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, 71, 8), sys.byteorder))
"""
"""71 is SO_NETNS_COOKIE, of Linux 5.14."""

Cookies = dict[int, int]
"""Inodes and cookies."""


def of_cluster(data: pathlib.Path) -> Cookies:
    """Of the netns daemon and of the shims, whose working directory is below the data directory. Not that of the host."""
    found = {}
    for pid, inode in _inodes():
        if inode != _inode("self") and inode not in found and _cwd(pid).startswith(str(data)):
            found[inode] = _cookie(pid)
    return {inode: cookie for inode, cookie in found.items() if cookie}


def existing(recorded: Cookies) -> list[str]:
    """Those that have a process."""
    used = [(pid, inode) for pid, inode in _inodes() if inode in recorded]
    return [f"network namespace {inode} of process {pid}" for pid, inode in used if _cookie(pid) == recorded[inode]]


def _inodes() -> Iterator[tuple[str, int]]:
    for name in os.listdir("/proc"):
        if name.isdecimal() and (inode := _inode(name)):
            yield name, inode


def _inode(pid: str) -> int:
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return 0


def _cwd(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def _cookie(pid: str) -> int:
    done = subprocess.run([sys.executable, "-I", "-S", "-c", _COOKIE, pid], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 0
