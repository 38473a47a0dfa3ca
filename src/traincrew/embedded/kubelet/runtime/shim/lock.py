"""A pod has one shim: whoever holds the lock of its directory. It is let go by the end of that process, however it ends."""

from __future__ import annotations

import fcntl
import os
import struct

_NAME = "shim.lock"
_ASKED = struct.Struct("hhqqi4x")


def acquire(directory: str) -> bool:
    """For the rest of this process's life. The descriptor stays open on purpose: closing any on that file would let go of it."""
    fd = os.open(os.path.join(directory, _NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(directory: str) -> bool:
    """Only asks, so that nobody who wants it just now is kept from it."""
    try:
        fd = os.open(os.path.join(directory, _NAME), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, _ASKED.pack(fcntl.F_WRLCK, 0, 0, 0, 0))
    finally:
        os.close(fd)
    return bool(_ASKED.unpack(answer)[0] != fcntl.F_UNLCK)
