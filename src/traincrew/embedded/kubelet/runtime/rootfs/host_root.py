"""The host's file systems as the lower layer of a container's rootfs."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.host_mounts import HostMount, is_within
from traincrew.embedded.kubelet.runtime.rootfs.mounts import bind_open, mount_target, opened
from traincrew.embedded.kubelet.runtime.rootfs.overlay import WritableLayer, copy_mode_and_owner
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import Resolve, RootDirectory, descriptor_path
from traincrew.embedded.kubelet.runtime.spec import Isolation

REPLACED = ("/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp")  # noqa: S108 -- paths of the container's own
"""Directories that a container has of its own."""

_PSEUDO_FILESYSTEMS = {
    *("autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl"),
    *("hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs"),
}

_WRITABLE = (
    "/etc/ssh",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/share",
    "/var/cache",
    "/var/lib",
    "/var/log",
)
"""Directories of the host's root that root in a user namespace expects to be writable."""


_BASE = "base"


class HostRoot:
    """Mounts the host's root as one overlay where the kernel allows it.

    In a user namespace the kernel does not reveal what mounts hide. There, each directory that contains a mount is created anew,
    with an overlay over each of its children.
    """

    def __init__(self, layer: WritableLayer, mounts: tuple[HostMount, ...], hidden: tuple[str, ...]) -> None:
        """mounts: the visible ones; hidden: directories below which no mount of the host is shown."""
        self._layer = layer
        self.overlays = ["/"]
        """Paths that have a writable overlay."""
        self._mounts = {mount.path: mount for mount in mounts if is_shown(mount, hidden)}
        self._hidden = {mount.path for mount in mounts} - set(self._mounts) | set(hidden)
        self._with_mounts = {above for mount in mounts for above in _ancestors(mount.path)}

    def mount(self, target: str, isolation: Isolation, mount_points: tuple[str, ...] = ()) -> None:
        """Mounts the root at target. mount_points: of later mounts; root of a user namespace may not create directories there."""
        # A pod with a host path may replace directories by links meanwhile. They must not lead to what is masked elsewhere.
        with contextlib.closing(RootDirectory("/", Resolve.NO_SYMLINKS)) as self._host:
            self._mount(target, isolation, mount_points)

    def _mount(self, target: str, isolation: Isolation, mount_points: tuple[str, ...]) -> None:
        if isolation is Isolation.ROOT and self._mount_whole(target):
            return
        syscalls.mount(self._layer.create_directory(_BASE, 0o755), target, "", syscalls.MS_BIND)
        syscalls.mount("", target, "", syscalls.MS_REMOUNT | syscalls.MS_BIND | self._layer.flags)
        with contextlib.closing(RootDirectory(target)) as root:
            self._assemble(root, "/", frozenset((*_WRITABLE, *(os.path.realpath(mount_point) for mount_point in mount_points))))

    def _mount_whole(self, target: str) -> bool:
        try:
            self._layer.overlay("/", self._layer.upper_for("/"), target)
        except OSError:
            return False
        with contextlib.closing(RootDirectory(target)) as root:
            for path in self._mounts:
                # A file system that cannot be mounted, for example of another user, is left out.
                with contextlib.suppress(OSError):
                    self._mount_one(root, path)
        return True

    def _mount_one(self, root: RootDirectory, path: str) -> None:
        if path == "/":
            return
        with opened(self._host, path) as source:
            is_directory = stat.S_ISDIR(os.fstat(source).st_mode)
            if not (self._mounts[path].writable and is_directory and self._overlay_mount(root, source, path)):
                _bind_read_only(root, source, path)

    def _overlay_mount(self, root: RootDirectory, source: int, path: str) -> bool:
        lower = descriptor_path(source)
        with contextlib.suppress(OSError), mount_target(root, path) as target:
            self._layer.overlay(lower, self._layer.upper_for(lower), target)
            self.overlays.append(path)
            return True
        return False

    def _assemble(self, root: RootDirectory, path: str, mount_points: frozenset[str]) -> None:
        for name in os.listdir(path):
            # Files that the user may not read on the host are left out, and those that are being replaced.
            with contextlib.suppress(PermissionError, FileNotFoundError, FileExistsError):
                self._assemble_one(root, os.path.join(path, name), mount_points)

    def _assemble_one(self, root: RootDirectory, path: str, mount_points: frozenset[str]) -> None:
        if path in self._hidden and not os.path.isdir(path):
            return
        target = descriptor_path(root.top) + path
        try:
            with opened(self._host, path) as source:
                self._assemble_file(root, source, path, mount_points)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            os.symlink(os.readlink(path), target)

    def _assemble_file(self, root: RootDirectory, source: int, path: str, mount_points: frozenset[str]) -> None:
        found, target = os.fstat(source), descriptor_path(root.top) + path
        if stat.S_ISREG(found.st_mode):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL, 0o644))
            _bind_read_only(root, source, path)
        elif stat.S_ISDIR(found.st_mode):
            os.mkdir(target)
            copy_mode_and_owner(target, found)
            self._assemble_directory(root, source, path, mount_points)

    def _assemble_directory(self, root: RootDirectory, source: int, path: str, mount_points: frozenset[str]) -> None:
        entries = os.listdir(descriptor_path(source))
        if path in REPLACED or path in self._hidden or not entries:
            return
        if path in self._with_mounts:
            self._assemble(root, path, mount_points)
            return
        # The mount point of the overlay is its upper directory, too.
        upper = f"{self._layer.directory}/{_BASE}{path}"
        for mount_point in mount_points:
            if mount_point.startswith(path + "/"):
                _copy_directories(upper, path, mount_point)
        try:
            with mount_target(root, path) as target:
                self._layer.overlay(descriptor_path(source), upper, target)
            self.overlays.append(path)
        except OSError:
            _bind_read_only(root, source, path)


def _bind_read_only(root: RootDirectory, source: int, path: str) -> None:
    with opened(root, path) as target:
        bind_open(root, source, path, target, syscalls.MOUNT_ATTR_RDONLY)


def is_shown(mount: HostMount, hidden: tuple[str, ...]) -> bool:
    return mount.kind not in _PSEUDO_FILESYSTEMS and not any(
        is_within(mount.path, directory) for directory in (*REPLACED, *hidden)
    )


def _copy_directories(upper: str, lower: str, path: str) -> None:
    """Copies the existing directories of path into the upper directory, where the container owns them."""
    for name in os.path.relpath(path, lower).split("/"):
        lower, upper = os.path.join(lower, name), os.path.join(upper, name)
        if not stat.S_ISDIR(_mode(lower)):
            return
        with contextlib.suppress(FileExistsError):
            os.mkdir(upper)
            os.chmod(upper, _mode(lower) & 0o7777 | 0o700)


def _mode(path: str) -> int:
    """The mode without following a link; 0: the path does not exist."""
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
