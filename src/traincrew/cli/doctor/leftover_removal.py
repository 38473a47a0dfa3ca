"""Removes what clusters that no longer exist have left on this machine. A cluster exists while its data directory does.

A mount keeps its directory, so the files of the cluster count, not the directory.

Pods of a cluster that is not running are not touched: the next `traincrew up` adopts them, and `traincrew down` stops them.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import signal
import time
import zlib
from collections.abc import Iterator

from traincrew.cli.doctor import leftovers
from traincrew.cli.doctor.check_result import CheckResult, ok, warn
from traincrew.cli.doctor.leftovers import Process
from traincrew.embedded import process_identity
from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.network import egress
from traincrew.embedded.kubelet.runtime import host_mounts, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import cgroups, hierarchies
from traincrew.embedded.kubelet.volumes.empty_dir import SHARED_MEMORY

_OF_CLUSTERS = ("cluster.db", "node.lock")
_KILL_SECONDS = 10.0
_INITIAL_PID_NAMESPACE = 0xEFFFFFFC
"""The kernel's number of the namespace that shows all processes of the machine."""
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOUNT = re.compile(r"(?P<data>/.*)/node/(pods|unremoved)/(?P<uid>[0-9a-f-]{36})(/|$)")


def remove() -> Iterator[CheckResult]:
    """Yields what was removed, and what could not be."""
    yield from _kill_processes()
    yield from _unmount()
    if not _sees_all_processes():
        why = "cgroups, memory volumes and networks are not removed: this PID namespace does not show every cluster"
        yield warn("leftovers", why, "Run `traincrew doctor --fix` on the host, outside of containers.")
        return
    kept = _pods_of_existing_clusters()
    yield from _remove_cgroups(kept)
    yield from _remove_shared_memory(kept)
    yield from _remove_networks()


def _sees_all_processes() -> bool:
    """What belongs to no visible process may belong to a cluster in a container."""
    return os.stat("/proc/self/ns/pid").st_ino == _INITIAL_PID_NAMESPACE


def _removed(what: str) -> CheckResult:
    return ok("leftovers", f"removed {what}")


def _failed(what: str, error: OSError) -> CheckResult:
    return warn("leftovers", f"{what} cannot be removed: {error.strerror or error}", "Run `sudo traincrew doctor --fix`.")


def _exists(data: str, root: str = "") -> bool:
    """Whether there is a cluster or a node in the directory. root: of the mount namespace. True if it cannot be checked."""
    for name in _OF_CLUSTERS:
        try:
            os.lstat(f"{root}{data}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True
        return True
    return False


def _kill_processes() -> Iterator[CheckResult]:
    for process in leftovers.processes():
        if _exists(process.data, f"/proc/{process.pid}/root"):
            continue
        kind = "the network" if process.is_netns_daemon else f"pod {process.uid}"
        what = f"the processes of {kind} of the deleted cluster in {process.data}"
        try:
            _kill_tree(process)
        except OSError as error:
            yield _failed(what, error)
        else:
            yield _removed(what)


def _kill_tree(process: Process) -> None:
    """The processes of containers are descendants of the shim. Raises OSError."""
    members = {process.pid: os.pidfd_open(process.pid)}
    try:
        # The id may have been used again before the descriptor was opened.
        if process not in leftovers.processes():
            return
        for pid in _descendants(process.pid):
            with contextlib.suppress(OSError):
                members[pid] = os.pidfd_open(pid)
        for descriptor in members.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        deadline = time.monotonic() + _KILL_SECONDS
        while any(process_identity.is_running(str(pid)) for pid in members):
            if time.monotonic() > deadline:
                raise TimeoutError("the processes have not ended")
            time.sleep(0.02)
    finally:
        for descriptor in members.values():
            os.close(descriptor)


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                parent = int(pathlib.Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found, pending = list[int](), [pid]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _pods_of_existing_clusters() -> set[str]:
    """UIDs: pods with a shim, and pods whose directories are in data directories that processes use."""
    running = leftovers.processes()
    found = {process.uid for process in running}
    for data in {process.data for process in running}:
        with contextlib.suppress(OSError):
            found |= set(os.listdir(pathlib.Path(data) / "node/pods"))
    return found


def _unmount() -> Iterator[CheckResult]:
    """Innermost mounts first."""
    for mount in reversed(host_mounts.read()):
        found = _MOUNT.match(mount.path)
        if found is None or _exists(found["data"]):
            continue
        try:
            syscalls.umount(mount.path, syscalls.MNT_DETACH)
        except OSError as error:
            yield _failed(f"the mount {mount.path}", error)
        else:
            yield _removed(f"the mount {mount.path} of a deleted cluster")


def _remove_cgroups(kept: set[str]) -> Iterator[CheckResult]:
    for part in hierarchies.discover().directories:
        top = pathlib.Path(part.directory, "traincrew")
        names = sorted(path.name for path in top.iterdir() if _UID.fullmatch(path.name)) if top.is_dir() else []
        for name in names:
            if name in kept or _belongs_to_existing_cluster(cgroups.processes_of(str(top / name))):
                continue
            if os.geteuid() and cgroups.processes_of(str(top / name)):
                continue  # an ordinary user does not see every shim
            group = cgroups.Cgroup((hierarchies.CgroupDirectory(str(top / name), part.controllers, part.unified),))
            if group.kill() and group.remove():
                yield _removed(f"the cgroup {top / name}")
            else:
                yield warn("leftovers", f"the cgroup {top / name} cannot be removed", "Run `sudo traincrew doctor --fix`.")


def _belongs_to_existing_cluster(pids: set[int]) -> bool:
    """Whether a process of a pod has mounts of a data directory that exists. Its shim may just have been killed."""
    for pid in pids:
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{pid}/mountinfo").read_text(errors="replace")
            paths = {match["data"] for match in re.finditer(r" (?P<data>/[^ ]*)/node/pods/[0-9a-f-]{36}/", text)}
            if any(_exists(path, f"/proc/{pid}/root") or _exists(path) for path in paths):
                return True
    return False


def _remove_shared_memory(kept: set[str]) -> Iterator[CheckResult]:
    own = f"traincrew-{os.geteuid()}" if os.geteuid() else "traincrew-*"
    for path in sorted(SHARED_MEMORY.glob(f"{own}/*")):
        if path.name in kept or not _UID.fullmatch(path.name) or path.parent.is_symlink():
            continue
        try:
            removal.remove_tree(path)
        except OSError as error:
            yield _failed(f"the memory volumes {path}", error)
        else:
            yield _removed(f"the memory volumes {path} of a deleted pod")


def _remove_networks() -> Iterator[CheckResult]:
    """Only root can see to which cluster they belong."""
    if os.geteuid():
        return
    kept = {f"{zlib.crc32(os.fsencode(process.cwd)):08x}" for process in leftovers.processes() if process.is_netns_daemon}
    for identity in egress.identities_on_host():
        if identity in kept:
            continue
        link = egress.link_name(identity)
        try:
            egress.remove_by_identity(identity)
        except OSError as error:
            yield _failed(f"the link {link}", error)
        else:
            yield _removed(f"the link {link}, its firewall rules and its setting net.ipv4.ip_forward")
