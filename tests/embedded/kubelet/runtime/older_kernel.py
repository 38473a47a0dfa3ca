"""Lets this process and its children run as on an older kernel: a seccomp filter answers newer system calls with ENOSYS."""

from __future__ import annotations

import ctypes
import errno
import struct

OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
BEFORE_5_2 = (OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR)
BEFORE_5_12 = (MOUNT_SETATTR,)

_LOAD_NUMBER = struct.pack("HBBI", 0x20, 0, 0, 0)
_RETURN_ALLOW = struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
_RETURN_ENOSYS = struct.pack("HBBI", 0x06, 0, 0, 0x00050000 | errno.ENOSYS)
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def deny(*numbers: int) -> None:
    """Needs root. Cannot be undone."""
    # Each comparison skips the ENOSYS that follows it unless the number is equal.
    rules = b"".join(struct.pack("HBBI", 0x15, 0, 1, number) + _RETURN_ENOSYS for number in numbers)
    code = _LOAD_NUMBER + rules + _RETURN_ALLOW
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
