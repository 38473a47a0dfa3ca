"""Capabilities by name, and the set that a container gets."""

from __future__ import annotations

_NAMES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE"),
    *("NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO"),
    *("SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME"),
    *("SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG"),
    *("WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"),
)
NUMBERS = {name: number for number, name in enumerate(_NAMES)}
ALL = (1 << len(_NAMES)) - 1

DEFAULT = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP"),
    *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)


class UnknownCapability(ValueError):
    """The kernel has no capability of that name."""


def effective_set(add: tuple[str, ...], drop: tuple[str, ...], privileged: bool) -> int:
    """The capability set as a bit mask. As in containerd, `drop: ALL` keeps added ones and `add: ALL` leaves out dropped ones."""
    added, dropped = {_bare(name) for name in add}, {_bare(name) for name in drop}
    if privileged:
        return ALL
    granted = ALL if "ALL" in added else 0 if "ALL" in dropped else bits(set(DEFAULT))
    return granted & ~bits(dropped - {"ALL"}) | bits(added - {"ALL"} - dropped)


def bits(names: set[str]) -> int:
    return sum(1 << NUMBERS[name] for name in names)


def _bare(name: str) -> str:
    bare = name.upper().removeprefix("CAP_")
    if bare not in NUMBERS and bare != "ALL":
        raise UnknownCapability(f'unknown capability "{name}"')
    return bare
