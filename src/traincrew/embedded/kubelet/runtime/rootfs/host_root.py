"""The host's file systems as the lower half of a container's root."""

from __future__ import annotations

import contextlib
import os
import stat

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.rootfs.host_mounts import HostMount
from traincrew.embedded.kubelet.runtime.rootfs.mounts import bind, mount_target
from traincrew.embedded.kubelet.runtime.rootfs.overlay import WritableLayer, copy_mode_and_owner
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory, descriptor_path
from traincrew.embedded.kubelet.runtime.spec import Isolation

REPLACED = ("/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp")  # noqa: S108 -- paths of the container's own
"""What a container has of its own, whatever the host has there."""

_NOT_FILES = {
    *("autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl"),
    *("hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs"),
}

_OPENED = ("/etc/ssh", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/local/share", "/var/cache", "/var/lib", "/var/log")
"""Directories of the host's root that the root of a user namespace would expect to write to."""


_BASE = "base"


class HostRoot:
    """Where the kernel allows it, the host's root is one layer. In a user namespace it refuses to uncover what mounts may
    hide: there every directory above a mount is made anew, with a layer over each of its children."""

    def __init__(self, layer: WritableLayer, mounts: tuple[HostMount, ...], hidden: tuple[str, ...]) -> None:
        """mounts: the visible ones; hidden: directories below which no mount of the host is shown."""
        self._layer = layer
        self.laid = ["/"]
        """Where there is a layer to write to."""
        self._mounts = {mount.path: mount for mount in mounts if is_shown(mount, hidden)}
        self._left_out = {mount.path for mount in mounts} - set(self._mounts) | set(hidden)
        self._above = {above for mount in mounts for above in _ancestors(mount.path)}

    def lay(self, target: str, isolation: Isolation, seeds: tuple[str, ...] = ()) -> None:
        """The root at target; seeds: paths that are going to be made, where the root of a user namespace may make none."""
        if isolation is Isolation.ROOT and self._lay_whole(target):
            return
        syscalls.mount(self._layer.plain(_BASE, 0o755), target, "", syscalls.MS_BIND)
        syscalls.mount("", target, "", syscalls.MS_REMOUNT | syscalls.MS_BIND | self._layer.flags)
        with contextlib.closing(RootDirectory(target)) as root:
            self._assemble(root, "/", frozenset((*_OPENED, *(os.path.realpath(seed) for seed in seeds))))

    def _lay_whole(self, target: str) -> bool:
        try:
            self._layer.overlay("/", self._layer.upper_for("/"), target)
        except OSError:
            return False
        with contextlib.closing(RootDirectory(target)) as root:
            for path in self._mounts:
                # What cannot be shown (a file system of another user, say) is left out.
                with contextlib.suppress(OSError):
                    self._show(root, path)
        return True

    def _show(self, root: RootDirectory, path: str) -> None:
        if path == "/":
            return
        if self._mounts[path].writable and os.path.isdir(path):
            with contextlib.suppress(OSError), mount_target(root, path) as target:
                self._layer.overlay(path, self._layer.upper_for(path), target)
                self.laid.append(path)
                return
        bind(root, path, path, syscalls.MOUNT_ATTR_RDONLY)

    def _assemble(self, root: RootDirectory, path: str, seeds: frozenset[str]) -> None:
        for name in os.listdir(path):
            # What the user of this namespace may not see on the host is not there.
            with contextlib.suppress(PermissionError):
                self._assemble_one(root, os.path.join(path, name), seeds)

    def _assemble_one(self, root: RootDirectory, path: str, seeds: frozenset[str]) -> None:
        found = os.lstat(path)
        there = descriptor_path(root.top) + path
        if stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(path), there)
        elif stat.S_ISREG(found.st_mode):
            os.close(os.open(there, os.O_CREAT | os.O_EXCL, 0o644))
            bind(root, path, path, syscalls.MOUNT_ATTR_RDONLY)
        elif stat.S_ISDIR(found.st_mode):
            os.mkdir(there)
            copy_mode_and_owner(there, found)
            self._assemble_directory(root, path, seeds)

    def _assemble_directory(self, root: RootDirectory, path: str, seeds: frozenset[str]) -> None:
        entries = os.listdir(path)
        if path in REPLACED or path in self._left_out or not entries:
            return
        if path in self._above:
            self._assemble(root, path, seeds)
            return
        # The directory made for the overlay to be mounted on is its upper half as well.
        upper = f"{self._layer.directory}/{_BASE}{path}"
        for seed in seeds:
            if seed.startswith(path + "/"):
                _seed(upper, path, seed)
        try:
            with mount_target(root, path) as target:
                self._layer.overlay(path, upper, target)
            self.laid.append(path)
        except OSError:
            bind(root, path, path, syscalls.MOUNT_ATTR_RDONLY)


def is_shown(mount: HostMount, hidden: tuple[str, ...]) -> bool:
    return mount.kind not in _NOT_FILES and not any(is_within(mount.path, place) for place in (*REPLACED, *hidden))


def is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _seed(upper: str, lower: str, path: str) -> None:
    """Makes the existing directories above path, and path if it exists, the container's own."""
    for name in os.path.relpath(path, lower).split("/"):
        lower, upper = os.path.join(lower, name), os.path.join(upper, name)
        if not stat.S_ISDIR(_mode(lower)):
            return
        with contextlib.suppress(FileExistsError):
            os.mkdir(upper)
            os.chmod(upper, _mode(lower) & 0o7777 | 0o700)


def _mode(path: str) -> int:
    """0 if there is nothing; of a link its own."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _ancestors(path: str) -> list[str]:
    above = []
    while path != "/":
        path = os.path.dirname(path)
        above.append(path)
    return above
