"""Checks for leftovers of clusters that are not running: pods, networks, mounts, interfaces and cgroups."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import pwd
import re
import shlex
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from traincrew import errors
from traincrew.cli.doctor.check_result import CheckResult, ok, warn
from traincrew.embedded import data_directory
from traincrew.embedded.kubelet import runtime_setup
from traincrew.embedded.kubelet.runtime import host_mounts
from traincrew.embedded.kubelet.runtime.cgroups import cgroups, hierarchies

_NETNS_DAEMON = (b"traincrew.embedded.kubelet.network.netns_launcher", b"traincrew.embedded.node.network.launch")
_SHIM = (b"traincrew.embedded.kubelet.runtime.shim.template", b"traincrew.embedded.node.sandbox.template")
"""Command lines of these processes, in this and in earlier versions, whose processes may still run."""
_DELETED = " (deleted)"
_POD = re.compile(r"(?P<data>/.*)/node/pods/(?P<uid>[0-9a-f-]{36})(/|$)")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PROC = pathlib.Path("/proc")


class Process(NamedTuple):
    pid: int
    cwd: str
    """The working directory: DATA/node of a network namespace daemon, DATA/node/pods/UID of a shim."""
    is_netns_daemon: bool

    @property
    def data(self) -> str:
        path = self.cwd.removesuffix(_DELETED)
        match = _POD.match(path)
        return match["data"] if match else path.removesuffix("/node")

    @property
    def uid(self) -> str:
        match = _POD.match(self.cwd.removesuffix(_DELETED))
        return match["uid"] if match else ""


def _matches(modules: tuple[bytes, ...], command: bytes) -> bool:
    return any(module in command for module in modules)


def processes(proc: pathlib.Path = _PROC) -> list[Process]:
    """Network namespace daemons and shims whose /proc this user can read."""
    result = []
    for name in os.listdir(proc):
        try:
            command = (proc / name / "cmdline").read_bytes() if name.isdecimal() else b""
            cwd = os.readlink(proc / name / "cwd") if _matches(_NETNS_DAEMON, command) or _matches(_SHIM, command) else ""
        except OSError:
            continue
        path = cwd.removesuffix(_DELETED)
        if (_matches(_NETNS_DAEMON, command) and path.endswith("/node")) or (_matches(_SHIM, command) and _POD.match(path)):
            result.append(Process(int(name), cwd, _matches(_NETNS_DAEMON, command)))
    return result


def check(data: pathlib.Path) -> list[CheckResult]:
    """data: the data directory whose files are checked. Processes, mounts, links and cgroups are those of all clusters."""
    running = processes()
    everywhere = [*_clusters(running), *_mounts(running), *_interfaces(running), *_cgroups(running)]
    return [*everywhere, *_directories(data)] or [ok("leftovers", "none")]


def _clusters(running: Iterable[Process]) -> Iterator[CheckResult]:
    by_data: dict[str, list[Process]] = {}
    for process in running:
        by_data.setdefault(process.data, []).append(process)
    for data, left in sorted(by_data.items()):
        if runs(pathlib.Path(data)):
            continue
        pods = sum(not process.is_netns_daemon for process in left)
        parts = [f"{pods} pod{'' if pods == 1 else 's'}"] if pods else []
        parts += ["the network"] if pods < len(left) else []
        whose = f" of {owner}" if (owner := _other_owner(left)) else ""
        message = f"{' and '.join(parts)} of the cluster{whose} in {data}, which is not running"
        yield warn("leftovers", message, _remedy(data, left))


def _remedy(data: str, left: list[Process]) -> str:
    path = shlex.quote(data)
    down = f"Run `traincrew down --data {path}` to stop them"
    if (pathlib.Path(data) / "cluster.db").exists():
        return f"{down}, or `traincrew up --detach --data {path}` to adopt them."
    if (pathlib.Path(data) / "node.lock").exists():
        return f"{down}, or `traincrew node --data {path}` to adopt them."
    kill = f"kill -9 {' '.join(str(process.pid) for process in sorted(left))}"
    if owner := _other_owner(left):
        return f"Ask {owner}. The data directory is gone. Run: {kill}"
    return f"The data directory is gone. Run: {kill}"


def _other_owner(left: Iterable[Process], proc: pathlib.Path = _PROC) -> str:
    """The owner of the processes if it is another user. Root sees the processes of all users."""
    for process in left:
        with contextlib.suppress(OSError):
            # The owner of the directory in /proc is root for processes that are not dumpable.
            uid = re.search(r"^Uid:\s+(\d+)", (proc / str(process.pid) / "status").read_text(), re.MULTILINE)
            if uid is not None and int(uid[1]) != os.geteuid():
                return _name(int(uid[1]))
    return ""


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def runs(data: pathlib.Path) -> bool:
    """Whether a daemon uses the data directory. True for the directory of another user, which cannot be checked."""
    try:
        if data_directory.DataDirectory(data).owner_pid():
            return True
    except errors.NotRunning:
        return True
    try:
        descriptor = os.open(data / "node.lock", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _mounts(left: Iterable[Process]) -> Iterator[CheckResult]:
    """Mounts of pods without a shim. The mounts of a running shim are adopted with it."""
    running = {process.uid for process in left}
    for mount in host_mounts.read():
        pod = _POD.match(mount.path)
        if pod is not None and pod["uid"] not in running and not runs(pathlib.Path(pod["data"])):
            yield warn("leftovers", f"a mount of a deleted pod: {mount.path}", f"Run: umount {shlex.quote(mount.path)}")


def _interfaces(running: Iterable[Process]) -> Iterator[CheckResult]:
    """Network interfaces. Only root can see to which cluster they belong."""
    if os.geteuid() != 0:
        return
    known = {f"crew{zlib.crc32(os.fsencode(process.cwd)):08x}" for process in running if process.is_netns_daemon}
    for name in sorted(os.listdir("/sys/class/net")):
        if re.fullmatch(r"crew[0-9a-f]{8}", name) and name not in known:
            yield warn("leftovers", f"the network interface {name} of a deleted cluster", f"Run: ip link delete {name}")


def _cgroups(processes: Iterable[Process]) -> Iterator[CheckResult]:
    running, empty, left = {process.uid for process in processes}, set(), set()
    for part in hierarchies.discover().directories:
        top = pathlib.Path(part.directory, "traincrew")
        names = [path.name for path in top.iterdir() if _UID.fullmatch(path.name)] if top.is_dir() else []
        for name in set(names) - running:
            found = cgroups.processes_of(str(top / name))
            left |= {*found}
            empty |= {name} if not found else set()
    if left and os.geteuid() == 0:  # other users do not see every shim
        message = f"{len(left)} process{'' if len(left) == 1 else 'es'} of pods whose shim is gone"
        yield warn("leftovers", message, f"Run: kill -9 {' '.join(map(str, sorted(left)))}")
    if empty:
        loop = f"for uid in {' '.join(sorted(empty))}; do"
        clear = f'Run: {loop} find /sys/fs/cgroup -depth -type d -path "*/traincrew/$uid*" -exec rmdir {{}} +; done'
        yield warn("leftovers", f"{len(empty)} empty cgroups of deleted pods", clear)


def _directories(data: pathlib.Path) -> Iterator[CheckResult]:
    unremoved = runtime_setup.DataLayout(data).unremoved
    try:
        names = sorted(os.listdir(unremoved))
    except OSError:
        return
    if names:
        message = f"{len(names)} director{'y' if len(names) == 1 else 'ies'} of deleted pods could not be removed: {unremoved}"
        look = f"Run `findmnt -o TARGET | grep {shlex.quote(str(unremoved))}`, unmount what it shows"
        yield warn("leftovers", message, f"{look}, and restart the cluster. It removes them. Its log has the reason.")
