"""Where groups of processes can be made: below the group that this process is in, in each of the kernel's hierarchies."""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import dataclass

from traincrew.embedded.kubelet.runtime.rootfs import host_mounts
from traincrew.embedded.kubelet.runtime.rootfs.host_mounts import HostMount

CONTROLLERS = ("cpu", "memory", "pids")
_OF_USE = frozenset((*CONTROLLERS, "cpuacct"))
_ASIDE = "traincrew-daemon"
"""A unified group has processes or controlled children, not both: the daemon makes room by going into this one."""


@dataclass(frozen=True)
class CgroupDirectory:
    """A group's directory in one hierarchy."""

    directory: str
    controllers: frozenset[str]
    unified: bool

    def child(self, name: str) -> CgroupDirectory:
        return CgroupDirectory(f"{self.directory}/{name}", self.controllers, self.unified)


@dataclass(frozen=True)
class Hierarchies:
    """What groups are made on. why: the reason for every controller that is missing; "" when none is."""

    parts: tuple[CgroupDirectory, ...]
    why: str


def discover(own: str = "/proc/self/cgroup", mounts: tuple[HostMount, ...] | None = None) -> Hierarchies:
    """Below this process's own group, so that whatever limits it limits the pods as well."""
    parts: list[CgroupDirectory] = []
    refusals: dict[str, str] = {}
    visible = host_mounts.visible(host_mounts.read()) if mounts is None else mounts
    for controllers, path in _memberships(own):
        directory = _directory(controllers, path, visible)
        if not directory:
            continue
        part = _unified(directory, refusals) if not controllers else _old(directory, controllers, refusals)
        if part is not None:
            parts.append(part)
    return Hierarchies(tuple(parts), _why(parts, refusals))


def move_daemon_to_leaf(own: str = "/proc/self/cgroup", mounts: tuple[HostMount, ...] | None = None) -> None:
    """Called once by the daemon: where its unified group holds it and its descendants alone, they go into a child group."""
    visible = host_mounts.visible(host_mounts.read()) if mounts is None else mounts
    for controllers, path in _memberships(own):
        directory = "" if controllers else _directory("", path, visible)
        if directory and os.path.basename(directory) != _ASIDE and os.path.exists(f"{directory}/cgroup.type"):
            with contextlib.suppress(OSError):
                _go_aside(directory)


def enable(directory: str) -> frozenset[str]:
    """The controllers that children of a unified group have, after all were asked for."""
    for name in _words(f"{directory}/cgroup.controllers"):
        if name in CONTROLLERS:
            with contextlib.suppress(OSError):
                write(f"{directory}/cgroup.subtree_control", f"+{name}")
    return frozenset(_words(f"{directory}/cgroup.subtree_control")) & _OF_USE


def write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _memberships(own: str) -> list[tuple[str, str]]:
    with contextlib.suppress(FileNotFoundError), open(own, encoding="utf-8", errors="surrogateescape") as lines:
        split = [line.rstrip("\n").split(":", 2) for line in lines]
        # A path that begins with .. lies outside of what this cgroup namespace shows.
        return [(controllers, path) for _, controllers, path in split if not path.startswith("/..")]
    return []


def _directory(controllers: str, path: str, mounts: tuple[HostMount, ...]) -> str:
    wanted = set(controllers.split(",")) if controllers else set()
    if wanted and not wanted & _OF_USE:
        return ""
    for mount in mounts:
        fits = mount.kind == "cgroup" and wanted <= set(mount.options.split(",")) if wanted else mount.kind == "cgroup2"
        if fits and (path + "/").startswith(mount.root.rstrip("/") + "/"):
            return (mount.path + path[len(mount.root.rstrip("/")) :]).rstrip("/")
    return ""


def _old(directory: str, controllers: str, refusals: dict[str, str]) -> CgroupDirectory | None:
    names = frozenset(controllers.split(",")) & _OF_USE
    refusal = _try(directory)
    if refusal:
        refusals.update(dict.fromkeys(names, refusal))
        return None
    return CgroupDirectory(directory, names, unified=False)


def _unified(directory: str, refusals: dict[str, str]) -> CgroupDirectory | None:
    """The nearest group from this one upwards whose children can be controlled; without any, one to keep processes together."""
    if os.path.basename(directory) == _ASIDE:
        directory = os.path.dirname(directory)
    candidates = [directory]
    while os.path.exists(f"{os.path.dirname(candidates[-1])}/cgroup.procs"):
        candidates.append(os.path.dirname(candidates[-1]))
    able = [candidate for candidate in candidates if not _try(candidate)]
    if not able:
        refusals.update(dict.fromkeys(_words(f"{candidates[-1]}/cgroup.controllers"), _try(directory)))
        return None
    for candidate in able:
        controllers = enable(candidate)
        if controllers:
            return CgroupDirectory(candidate, controllers, unified=True)
    return CgroupDirectory(able[0], frozenset(), unified=True)


def _try(directory: str) -> str:
    trial = f"{directory}/traincrew-trial-{os.getpid()}"
    try:
        os.mkdir(trial)
        os.rmdir(trial)
    except OSError as refusal:
        return f"{directory} cannot be written: {os.strerror(refusal.errno or errno.EIO)}"
    return ""


def _why(parts: list[CgroupDirectory], refusals: dict[str, str]) -> str:
    had = {name for part in parts for name in part.controllers}
    missing = [name for name in CONTROLLERS if name not in had]
    if not missing:
        return ""
    reasons = sorted({refusals[name] for name in missing if name in refusals}) or ["no cgroup hierarchy offers them"]
    how = "systemd-run --user --scope -p Delegate=yes traincrew up would be given its own groups"
    return f"no limits for {', '.join(missing)}: {'; '.join(reasons)}" + ("" if os.geteuid() == 0 else f" ({how})")


def _words(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def _go_aside(directory: str) -> None:
    pids = [int(word) for word in _words(f"{directory}/cgroup.procs")]
    if not all(_descends(pid, os.getpid()) for pid in pids):
        return
    with contextlib.suppress(FileExistsError):
        os.mkdir(f"{directory}/{_ASIDE}")
    for pid in pids:
        write(f"{directory}/{_ASIDE}/cgroup.procs", str(pid))


def _descends(pid: int, ancestor: int) -> bool:
    while pid not in (0, 1, ancestor):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return False
    return pid == ancestor
