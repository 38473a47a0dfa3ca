"""User, groups and capabilities of a container's process. No seccomp filter is set."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import stat

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.container import capabilities
from traincrew.embedded.kubelet.runtime.spec import ContainerConfig, Isolation

_SUBORDINATE = (
    "needs subordinate ids. Install newuidmap and newgidmap (package uidmap), run `usermod --add-subuids 100000-165535 "
    "--add-subgids 100000-165535 USER`, and restart the cluster."
)


_MOST_CHARACTERS = 4 << 20
"""Of /etc/passwd and /etc/group."""


class CredentialsError(OSError):
    """The process cannot have the requested user or groups. The message goes into the pod's events."""


@dataclasses.dataclass(frozen=True)
class IdMappings:
    """The ids that the user namespace of this process has."""

    users: tuple[range, ...]
    groups: tuple[range, ...]
    setgroups: bool
    """Whether supplementary groups may be set."""


def read_id_mappings() -> IdMappings:
    """Call it before this process enters a container, whose /proc does not show it."""
    return IdMappings(_ranges("/proc/self/uid_map"), _ranges("/proc/self/gid_map"), _setgroups_allowed())


def apply(container: ContainerConfig, isolation: Isolation, mappings: IdMappings, retained: int = 0) -> int:
    """Inside the container's root; there is no way back. Returns the capabilities of the process. Raises CredentialsError.

    retained: capabilities that stay until `set_capabilities`, for a process that forks the container's.
    """
    try:
        allowed = capabilities.effective_set(container.add_capabilities, container.drop_capabilities, container.privileged)
    except capabilities.UnknownCapability as unknown:
        raise CredentialsError(str(unknown)) from None
    uid, gid, groups = identity(container, isolation, mappings)
    if isolation is not Isolation.NONE:
        _limit(allowed)
    if retained:
        syscalls.keep_capabilities()
    _switch_user(uid, gid, groups, isolation, mappings)
    final = allowed if uid == 0 else 0
    if isolation is not Isolation.NONE:
        set_capabilities(final | retained)
    if container.no_new_privileges:
        syscalls.no_new_privileges()
    return final


def reduce(container: ContainerConfig, isolation: Isolation) -> None:
    """For init: the capabilities of the container, and KILL, to end processes of every user in its PID namespace."""
    if isolation is Isolation.NONE:
        return
    try:
        allowed = capabilities.effective_set(container.add_capabilities, container.drop_capabilities, container.privileged)
    except capabilities.UnknownCapability:
        allowed = 0  # the command reports it
    allowed |= capabilities.bits({"KILL"})
    _limit(allowed)
    set_capabilities(allowed)


def drop_all_capabilities() -> None:
    _limit(0)
    set_capabilities(0)


def set_capabilities(allowed: int) -> None:
    """Gives up all others."""
    _, permitted, _ = syscalls.capget()
    syscalls.capset(allowed & permitted, allowed & permitted, 0)


def identity(container: ContainerConfig, isolation: Isolation, mappings: IdMappings) -> tuple[int, int, tuple[int, ...]]:
    """User, group and supplementary groups. The group defaults to the one in /etc/passwd, else to 0."""
    own = isolation is Isolation.NONE
    uid = container.user if container.user is not None else os.geteuid() if own else 0
    gid = container.group
    if gid is None:
        gid = os.getegid() if own and uid == os.geteuid() else group_of(uid)
    return uid, gid, tuple(dict.fromkeys((*container.groups, *_mapped(member_of(uid), mappings))))


def group_of(uid: int, table: str = "/etc/passwd") -> int:
    for fields in read_table(table):
        if len(fields) > 3 and fields[2] == str(uid) and fields[3].isdecimal():
            return int(fields[3])
    return 0


def member_of(uid: int, users: str = "/etc/passwd", groups: str = "/etc/group") -> tuple[int, ...]:
    name = next((fields[0] for fields in read_table(users) if len(fields) > 2 and fields[2] == str(uid)), "")
    if not name:
        return ()
    entries = (fields for fields in read_table(groups) if len(fields) > 3 and fields[2].isdecimal())
    return tuple(int(fields[2]) for fields in entries if name in fields[3].split(","))


def _mapped(groups: tuple[int, ...], mappings: IdMappings) -> tuple[int, ...]:
    """Groups of /etc/group that the user namespace maps. The others were not requested and are left out."""
    return tuple(group for group in groups if _within(group, mappings.groups)) if mappings.setgroups else ()


def read_table(table: str) -> list[list[str]]:
    """The container may have replaced the table by anything, such as a pipe or an endless file."""
    try:
        with open(table, encoding="utf-8", errors="replace", opener=_open_at_once) as file:
            text = file.read(_MOST_CHARACTERS) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else ""
    except OSError:
        return []
    return [line.split(":") for line in text.split("\n")]


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)


def _limit(allowed: int) -> None:
    """Drops the rest from the bounding set: no setuid program can regain it."""
    syscalls.clear_ambient()
    for number in range(64):
        try:
            held = syscalls.bounding_has(number)
        except OSError:
            return
        if held and not allowed >> number & 1:
            syscalls.drop_from_bounding(number)


def _switch_user(uid: int, gid: int, groups: tuple[int, ...], isolation: Isolation, mappings: IdMappings) -> None:
    if isolation is Isolation.NONE and os.geteuid() != 0:
        _check_unchanged(uid, gid)
        return
    _check_mapped(uid, gid, groups, mappings)
    try:
        os.setgroups(groups)
    except PermissionError:
        # A user namespace with a single id keeps groups that it cannot map. Requested groups were checked above.
        if mappings.setgroups:
            raise
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _check_unchanged(uid: int, gid: int) -> None:
    """Without root and without a user namespace a process cannot change its user."""
    if (uid, gid) != (os.geteuid(), os.getegid()):
        raise CredentialsError(
            errno.EPERM, f"runAsUser {uid}, runAsGroup {gid} need root, or a user namespace with subordinate ids"
        )


def _check_mapped(uid: int, gid: int, groups: tuple[int, ...], mappings: IdMappings) -> None:
    if not _within(uid, mappings.users):
        raise CredentialsError(errno.EINVAL, f"runAsUser {uid} {_SUBORDINATE}")
    if not _within(gid, mappings.groups):
        raise CredentialsError(errno.EINVAL, f"runAsGroup {gid} {_SUBORDINATE}")
    missing = [group for group in groups if not _within(group, mappings.groups)]
    if missing or (set(groups) - {gid} and not mappings.setgroups):
        raise CredentialsError(errno.EINVAL, f"supplementalGroups {missing or list(groups)} {_SUBORDINATE}")


def _within(number: int, ranges: tuple[range, ...]) -> bool:
    return any(number in each for each in ranges)


def _ranges(table: str) -> tuple[range, ...]:
    with open(table, encoding="ascii") as lines:
        rows = [[int(word) for word in line.split()] for line in lines]
    return tuple(range(first, first + count) for first, _, count in rows)


def _setgroups_allowed() -> bool:
    with contextlib.suppress(OSError), open("/proc/self/setgroups", encoding="ascii") as file:
        return file.read().strip() == "allow"
    return True
