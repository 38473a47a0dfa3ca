"""The lock that makes a shim the only one of its pod. The kernel releases it when the process ends."""

from __future__ import annotations

import fcntl
import os
import struct

_NAME = "shim.lock"
_FLOCK = struct.Struct("hhqqi4x")


def acquire(directory: str) -> bool:
    """Takes the lock for the life of this process. Closing any descriptor of the file would release it."""
    fd = os.open(os.path.join(directory, _NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(directory: str) -> bool:
    return owner(directory) is not None


def owner(directory: str) -> int | None:
    """The process id of the shim; None: there is no shim. Tests the lock without taking it: a starting shim is not disturbed."""
    try:
        fd = os.open(os.path.join(directory, _NAME), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        kind, *_, pid = _FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, _FLOCK.pack(fcntl.F_WRLCK, 0, 0, 0, 0)))
    finally:
        os.close(fd)
    return int(pid) if kind != fcntl.F_UNLCK else None
