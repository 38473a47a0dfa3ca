"""The flags "immutable" and "append only" of files (chattr), which a pod with CAP_LINUX_IMMUTABLE can set."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import struct

_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_IMMUTABLE, _APPEND_ONLY = 0x10, 0x20


def clear(descriptor: int) -> None:
    """Clears both flags if this process may. Does nothing on file systems without flags."""
    with contextlib.suppress(OSError):
        (flags,) = struct.unpack("l", fcntl.ioctl(descriptor, _GET_FLAGS, struct.pack("l", 0)))
        if flags & (_IMMUTABLE | _APPEND_ONLY):
            fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("l", flags & ~(_IMMUTABLE | _APPEND_ONLY)))


def clear_entry(name: str, directory: int) -> None:
    """Clears the flags of a file or directory. Nothing else is opened: to open a device can have effects."""
    with contextlib.suppress(OSError):
        found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            mode = os.fstat(found).st_mode
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                opened = os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_CLOEXEC)
                clear(opened)
                os.close(opened)
        finally:
            os.close(found)
