"""Discovers the cgroup hierarchies in which this process may create child cgroups."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from traincrew.embedded.kubelet.runtime import host_mounts
from traincrew.embedded.kubelet.runtime.host_mounts import HostMount

CONTROLLERS = ("cpu", "memory", "pids")
_USED = frozenset((*CONTROLLERS, "cpuacct"))
_LEAF = "traincrew-daemon"
"""In cgroup v2 a cgroup has processes or controlled children, not both: the daemon moves into this leaf."""


DELEGATED = "systemd-run --user --scope -p Delegate=yes traincrew up"


@dataclass(frozen=True)
class CgroupDirectory:
    """The directory of a cgroup in one hierarchy."""

    directory: str
    controllers: frozenset[str]
    unified: bool


@dataclass(frozen=True)
class Hierarchies:
    """Where pod cgroups are created. warning: the reason for each missing controller; "": none is missing."""

    directories: tuple[CgroupDirectory, ...]
    warning: str

    @property
    def missing(self) -> tuple[str, ...]:
        """The controllers whose limits are not enforced."""
        enabled = {name for directory in self.directories for name in directory.controllers}
        return tuple(name for name in CONTROLLERS if name not in enabled)


def discover(own: str = "/proc/self/cgroup", mounts: tuple[HostMount, ...] | None = None) -> Hierarchies:
    """Looks below this process's own cgroup, so that its limits apply to the pods, too."""
    directories: list[CgroupDirectory] = []
    reasons_by_controller: dict[str, str] = {}
    visible = host_mounts.visible(host_mounts.read()) if mounts is None else mounts
    for controllers, path in _memberships(own):
        directory = _directory(controllers, path, visible)
        if not directory:
            continue
        cgroup = (
            _v2_directory(directory, reasons_by_controller)
            if not controllers
            else _v1_directory(directory, controllers, reasons_by_controller)
        )
        if cgroup is not None:
            directories.append(cgroup)
    found = Hierarchies(tuple(directories), "")
    return replace(found, warning=_warning(found.missing, reasons_by_controller))


def move_daemon_to_leaf(own: str = "/proc/self/cgroup", mounts: tuple[HostMount, ...] | None = None) -> None:
    """Called once by the daemon: moves it and its descendants into a leaf cgroup, if the cgroup v2 holds no other process."""
    visible = host_mounts.visible(host_mounts.read()) if mounts is None else mounts
    for controllers, path in _memberships(own):
        directory = "" if controllers else _directory("", path, visible)
        if directory and os.path.basename(directory) != _LEAF and os.path.exists(f"{directory}/cgroup.type"):
            with contextlib.suppress(OSError):
                _move_to_leaf(directory)


def enable(directory: str) -> frozenset[str]:
    """Enables the controllers for the children of a cgroup v2. Returns those that are enabled."""
    for name in _read_words(f"{directory}/cgroup.controllers"):
        if name in CONTROLLERS:
            with contextlib.suppress(OSError):
                write(f"{directory}/cgroup.subtree_control", f"+{name}")
    return frozenset(_read_words(f"{directory}/cgroup.subtree_control")) & _USED


def write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _memberships(own: str) -> list[tuple[str, str]]:
    with contextlib.suppress(FileNotFoundError), open(own, encoding="utf-8", errors="surrogateescape") as lines:
        split = [line.rstrip("\n").split(":", 2) for line in lines]
        # A path that starts with /.. is outside of this cgroup namespace.
        return [(controllers, path) for _, controllers, path in split if not path.startswith("/..")]
    return []


def _directory(controllers: str, path: str, mounts: tuple[HostMount, ...]) -> str:
    wanted = set(controllers.split(",")) if controllers else set()
    if wanted and not wanted & _USED:
        return ""
    for mount in mounts:
        fits = mount.kind == "cgroup" and wanted <= set(mount.options.split(",")) if wanted else mount.kind == "cgroup2"
        if fits and (path + "/").startswith(mount.root.rstrip("/") + "/"):
            return (mount.path + path[len(mount.root.rstrip("/")) :]).rstrip("/")
    return ""


def _v1_directory(directory: str, controllers: str, reasons_by_controller: dict[str, str]) -> CgroupDirectory | None:
    names = frozenset(controllers.split(",")) & _USED
    reason = _check_writable(directory)
    if reason:
        reasons_by_controller.update(dict.fromkeys(names, reason))
        return None
    return CgroupDirectory(directory, names, unified=False)


def _v2_directory(directory: str, reasons_by_controller: dict[str, str]) -> CgroupDirectory | None:
    """The nearest ancestor whose children can have controllers; if there is none, the nearest that is writable."""
    if os.path.basename(directory) == _LEAF:
        directory = os.path.dirname(directory)
    candidates = [directory]
    while os.path.exists(f"{os.path.dirname(candidates[-1])}/cgroup.procs"):
        candidates.append(os.path.dirname(candidates[-1]))
    able = [candidate for candidate in candidates if not _check_writable(candidate)]
    if not able:
        reasons_by_controller.update(
            dict.fromkeys(_read_words(f"{candidates[-1]}/cgroup.controllers"), _check_writable(directory))
        )
        return None
    for candidate in able:
        controllers = enable(candidate)
        if controllers:
            return CgroupDirectory(candidate, controllers, unified=True)
    return CgroupDirectory(able[0], frozenset(), unified=True)


def _check_writable(directory: str) -> str:
    trial = f"{directory}/traincrew-trial-{os.getpid()}"
    try:
        os.mkdir(trial)
        os.rmdir(trial)
    except OSError as error:
        return f"{directory} is not writable: {os.strerror(error.errno or errno.EIO)}"
    return ""


def _warning(missing: Sequence[str], reasons_by_controller: Mapping[str, str]) -> str:
    if not missing:
        return ""
    reasons = sorted({reasons_by_controller[name] for name in missing if name in reasons_by_controller}) or [
        "no cgroup hierarchy has these controllers"
    ]
    return f"no limits for {', '.join(missing)}: {'; '.join(reasons)} ({remedy(os.geteuid(), os.environ)})"


def remedy(user: int, environ: Mapping[str, str], systemd: str = "/run/systemd/system") -> str:
    """How the cluster gets cgroups in which it may set limits. `systemd-run --user` needs the bus of a login session."""
    if user == 0:
        return "in a container, mount the cgroups writable"
    if not os.path.isdir(systemd):
        return "run `traincrew up` as root; in a container, mount the cgroups writable"
    directory = environ.get("XDG_RUNTIME_DIR", "")
    if directory and os.path.exists(f"{directory}/bus"):
        return f"run `{DELEGATED}` to get delegated cgroups"
    return f"log in with ssh or at a terminal, as su opens no session, and run `{DELEGATED}` there, or run `traincrew up` as root"


def _read_words(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def _move_to_leaf(directory: str) -> None:
    pids = [int(word) for word in _read_words(f"{directory}/cgroup.procs")]
    if not all(_is_descendant(pid, os.getpid()) for pid in pids):
        return
    with contextlib.suppress(FileExistsError):
        os.mkdir(f"{directory}/{_LEAF}")
    for pid in pids:
        write(f"{directory}/{_LEAF}/cgroup.procs", str(pid))


def _is_descendant(pid: int, ancestor: int) -> bool:
    while pid not in (0, 1, ancestor):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return False
    return pid == ancestor
