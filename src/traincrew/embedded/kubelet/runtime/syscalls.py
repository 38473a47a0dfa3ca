"""System calls that Python 3.11 lacks. A failure is an OSError that names the call."""

from __future__ import annotations

import ctypes
import os
import resource
import signal

_libc = ctypes.CDLL(None, use_errno=True)
_libc_held = ctypes.PyDLL(None, use_errno=True)
"""Holds the GIL during a call."""

_CLONE_INTO_CGROUP = 0x200000000
CLONE_NEWNS = 0x20000
CLONE_NEWCGROUP = 0x2000000
CLONE_NEWUTS = 0x4000000
CLONE_NEWIPC = 0x8000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 0x20
MS_NOATIME = 0x400
MS_NODIRATIME = 0x800
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MS_RELATIME = 0x200000

MOUNT_ATTR_RDONLY = 1
MOUNT_ATTR_NODEV = 4

MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_KEEPCAPS = 8
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4

# System calls since 5.1 have one number on every architecture.
_SYS_OPEN_TREE = 428
_SYS_MOVE_MOUNT = 429
_SYS_CLONE3 = 435
_SYS_CLOSE_RANGE = 436
_SYS_MOUNT_SETATTR = 442
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOVE_MOUNT_T_EMPTY_PATH = 0x40

_CAPABILITY_VERSION_3 = 0x20080522


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilityWord(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def fork_into(cgroup: int) -> int:
    """As os.fork, but the child starts in the cgroup v2 of this open directory. ENOSYS before Linux 5.7."""
    # Flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup.
    words = (ctypes.c_uint64 * 11)(_CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, cgroup)
    ctypes.pythonapi.PyOS_BeforeFork()
    result = int(_libc_held.syscall(ctypes.c_long(_SYS_CLONE3), ctypes.byref(words), ctypes.c_size_t(ctypes.sizeof(words))))
    if result == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
        _check(result, "clone3")
    return result


def unshare(flags: int) -> None:
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(descriptor: int, kind: int = 0) -> None:
    _check(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    result = _libc.mount(
        os.fsencode(source or "none"),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        os.fsencode(options) or None,
    )
    _check(result, f"mount {kind or source} at {target}")


def restrict_mount(mount_descriptor: int, attributes: int, propagation: int = 0) -> None:
    """Adds MOUNT_ATTR flags to a mount, attached or not, and to all mounts below it. ENOSYS before Linux 5.12.

    propagation: such as MS_PRIVATE; 0: unchanged.
    """
    words = (ctypes.c_uint64 * 4)(attributes, 0, propagation, 0)
    result = _libc.syscall(
        ctypes.c_long(_SYS_MOUNT_SETATTR),
        ctypes.c_long(mount_descriptor),
        b"",
        ctypes.c_long(_AT_EMPTY_PATH | _AT_RECURSIVE),
        ctypes.byref(words),
        ctypes.c_size_t(ctypes.sizeof(words)),
    )
    _check(result, "mount_setattr")


def clone_mount(descriptor: int) -> int:
    """A descriptor of a detached mount of the open file or directory, with all mounts below it. ENOSYS before Linux 5.2.

    The mount can be attached in another mount namespace. It stays the descriptor's after it was attached.
    """
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH | _AT_RECURSIVE
    result = _libc.syscall(ctypes.c_long(_SYS_OPEN_TREE), ctypes.c_long(descriptor), b"", ctypes.c_long(flags))
    _check(result, "open_tree")
    return int(result)


def attach_mount(mount_descriptor: int, target_descriptor: int) -> None:
    flags = _MOVE_MOUNT_F_EMPTY_PATH | _MOVE_MOUNT_T_EMPTY_PATH
    result = _libc.syscall(
        ctypes.c_long(_SYS_MOVE_MOUNT),
        ctypes.c_long(mount_descriptor),
        b"",
        ctypes.c_long(target_descriptor),
        b"",
        ctypes.c_long(flags),
    )
    _check(result, "move_mount")


def umount(target: str, flags: int = 0) -> None:
    _check(_libc.umount2(os.fsencode(target), ctypes.c_int(flags)), f"unmount {target}")


def pivot_root(new_root: str, put_old: str) -> None:
    _check(_libc.pivot_root(os.fsencode(new_root), os.fsencode(put_old)), "pivot_root")


def sethostname(name: str) -> None:
    encoded = name.encode()
    _check(_libc.sethostname(encoded, ctypes.c_size_t(len(encoded))), f"sethostname {name}")


def die_with_parent(signal_number: int) -> None:
    """The signal comes when the *thread* that forked ends. Check getppid afterwards: the parent may have ended before."""
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def become_subreaper() -> None:
    """Makes this process a child subreaper: orphaned descendants become its children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def set_dumpable(dumpable: bool) -> None:
    _prctl(_PR_SET_DUMPABLE, int(dumpable))


def keep_capabilities() -> None:
    """A change of the user keeps the permitted capabilities. Ends with the execve."""
    _prctl(_PR_SET_KEEPCAPS, 1)


def no_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def bounding_has(capability: int) -> bool:
    """EINVAL for a number that this kernel does not have."""
    return _prctl(_PR_CAPBSET_READ, capability) == 1


def drop_from_bounding(capability: int) -> None:
    _prctl(_PR_CAPBSET_DROP, capability)


def clear_ambient() -> None:
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)


def capset(effective: int, permitted: int, inheritable: int) -> None:
    words = (_CapabilityWord * 2)()
    for index, shift in enumerate((0, 32)):
        words[index].effective = effective >> shift & 0xFFFFFFFF
        words[index].permitted = permitted >> shift & 0xFFFFFFFF
        words[index].inheritable = inheritable >> shift & 0xFFFFFFFF
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(ctypes.byref(header), ctypes.byref(words)), "capset")


def capget() -> tuple[int, int, int]:
    """Effective, permitted and inheritable set of this thread."""
    words = (_CapabilityWord * 2)()
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capget(ctypes.byref(header), ctypes.byref(words)), "capget")
    low, high = words
    return (
        low.effective | high.effective << 32,
        low.permitted | high.permitted << 32,
        low.inheritable | high.inheritable << 32,
    )


def close_range(first: int, last: int = 0xFFFFFFFF) -> None:
    """Closes every descriptor from first to last; on kernels before 5.9 one by one."""
    try:
        _syscall(_SYS_CLOSE_RANGE, first, last, 0)
    except OSError:
        for descriptor in (number for number in _possible_descriptors() if first <= number <= last):
            os.closerange(descriptor, descriptor + 1)


def _possible_descriptors() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        # This process is not in the PID namespace of /proc.
        return list(range(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def _prctl(option: int, argument: int) -> int:
    zero = ctypes.c_ulong(0)
    result = int(_libc.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), zero, zero, zero))
    _check(result, f"prctl {option}")
    return result


def _syscall(number: int, *arguments: int) -> int:
    result = int(_libc.syscall(ctypes.c_long(number), *(ctypes.c_long(argument) for argument in arguments)))
    _check(result, f"system call {number}")
    return result


def _check(result: int, call: str) -> None:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
