"""What clusters that no longer run have left: pods, networks, mounts, links, groups. Each with the command that clears it."""

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
from traincrew.cli.doctor.finding import Finding, ok, warn
from traincrew.embedded import data_directory
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.embedded.kubelet.runtime.rootfs import host_mounts

_HOLDER = (b"traincrew.embedded.kubelet.network.netns_launcher", b"traincrew.embedded.node.network.launch")
_SHIM = (b"traincrew.embedded.kubelet.runtime.shim.template", b"traincrew.embedded.node.sandbox.template")
"""How such processes are started, and how version 0.1.0 started them: theirs may still run."""
_DELETED = " (deleted)"
_POD = re.compile(r"(?P<data>/.*)/node/pods/(?P<uid>[0-9a-f-]{36})(/|$)")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PROC = pathlib.Path("/proc")


class Process(NamedTuple):
    pid: int
    place: str
    """Its working directory: a holder's is DATA/node, a shim's DATA/node/pods/UID."""
    is_holder: bool

    @property
    def data(self) -> str:
        bare = self.place.removesuffix(_DELETED)
        found = _POD.match(bare)
        return found["data"] if found else bare.removesuffix("/node")

    @property
    def uid(self) -> str:
        found = _POD.match(self.place.removesuffix(_DELETED))
        return found["uid"] if found else ""


def _is(modules: tuple[bytes, ...], command: bytes) -> bool:
    return any(module in command for module in modules)


def processes(proc: pathlib.Path = _PROC) -> list[Process]:
    """Holders and shims that this user may look at."""
    found = []
    for name in os.listdir(proc):
        try:
            command = (proc / name / "cmdline").read_bytes() if name.isdecimal() else b""
            where = os.readlink(proc / name / "cwd") if _is(_HOLDER, command) or _is(_SHIM, command) else ""
        except OSError:
            continue
        bare = where.removesuffix(_DELETED)
        if (_is(_HOLDER, command) and bare.endswith("/node")) or (_is(_SHIM, command) and _POD.match(bare)):
            found.append(Process(int(name), where, _is(_HOLDER, command)))
    return found


def check() -> list[Finding]:
    found = processes()
    return [*_clusters(found), *_mounts(found), *_links(found), *_groups(found)] or [ok("leftovers", "none")]


def _clusters(found: Iterable[Process]) -> Iterator[Finding]:
    by_data: dict[str, list[Process]] = {}
    for each in found:
        by_data.setdefault(each.data, []).append(each)
    for data, left in sorted(by_data.items()):
        if runs(pathlib.Path(data)):
            continue
        pods = sum(not each.is_holder for each in left)
        parts = [f"{pods} pod{'' if pods == 1 else 's'}"] if pods else []
        parts += ["the network"] if pods < len(left) else []
        whose = f" of {owner}" if (owner := _stranger(left)) else ""
        message = f"{' and '.join(parts)} of the cluster{whose} in {data}, which is not running"
        yield warn("leftovers", message, _remedy(data, left))


def _remedy(data: str, left: list[Process]) -> str:
    path = shlex.quote(data)
    if (pathlib.Path(data) / "cluster.db").exists():
        return f"Run `traincrew up --detach --data {path}` to adopt them, then `traincrew down --data {path}` to stop them."
    if (pathlib.Path(data) / "node.lock").exists():
        return f"Run `traincrew node --data {path}` to adopt them, with --drain to stop them."
    kill = f"kill -9 {' '.join(str(each.pid) for each in sorted(left))}"
    if owner := _stranger(left):
        return f"Ask {owner}. The data directory is gone. Run: {kill}"
    return f"The data directory is gone. Run: {kill}"


def _stranger(left: Iterable[Process], proc: pathlib.Path = _PROC) -> str:
    """Whose they are, if they are not ours: root sees everybody's."""
    for each in left:
        with contextlib.suppress(OSError):
            # Not the owner of the directory in /proc: of processes that may not be traced that is root.
            found = re.search(r"^Uid:\s+(\d+)", (proc / str(each.pid) / "status").read_text(), re.MULTILINE)
            if found is not None and int(found[1]) != os.geteuid():
                return _name(int(found[1]))
    return ""


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def runs(data: pathlib.Path) -> bool:
    """Whether a daemon has that directory; one that cannot be looked into is somebody else's affair."""
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


def _mounts(left: Iterable[Process]) -> Iterator[Finding]:
    """Only of pods whose shim is gone, too: what lives is taken over with its mounts."""
    living = {each.uid for each in left}
    for each in host_mounts.read():
        found = _POD.match(each.path)
        if found is not None and found["uid"] not in living and not runs(pathlib.Path(found["data"])):
            yield warn("leftovers", f"a mount of a deleted pod: {each.path}", f"Run: umount {shlex.quote(each.path)}")


def _links(found: Iterable[Process]) -> Iterator[Finding]:
    """Root alone sees whose they are."""
    if os.geteuid() != 0:
        return
    known = {f"crew{zlib.crc32(os.fsencode(each.place)):08x}" for each in found if each.is_holder}
    for name in sorted(os.listdir("/sys/class/net")):
        if re.fullmatch(r"crew[0-9a-f]{8}", name) and name not in known:
            yield warn("leftovers", f"the network interface {name} of a deleted cluster", f"Run: ip link delete {name}")


def _groups(found: Iterable[Process]) -> Iterator[Finding]:
    living, dead = {each.uid for each in found}, set()
    for part in hierarchies.discover().directories:
        top = pathlib.Path(part.directory, "traincrew")
        names = [each.name for each in top.iterdir() if _UID.fullmatch(each.name)] if top.is_dir() else []
        dead |= {name for name in names if name not in living and not _occupied(top / name)}
    if dead:
        each_one = f"for uid in {' '.join(sorted(dead))}; do"
        clear = f'Run: {each_one} find /sys/fs/cgroup -depth -type d -path "*/traincrew/$uid*" -exec rmdir {{}} +; done'
        yield warn("leftovers", f"{len(dead)} empty cgroups of deleted pods", clear)


def _occupied(group: pathlib.Path) -> bool:
    for folder, _, _ in os.walk(group):
        try:
            if (pathlib.Path(folder) / "cgroup.procs").read_text().strip():
                return True
        except OSError:
            continue
    return False
