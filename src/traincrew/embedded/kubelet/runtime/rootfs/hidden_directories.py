"""Where the mounts of this machine show a directory that pods must not see, such as the cluster's data directory.

A file system that is mounted twice, or a bind mount, shows a directory at further paths. The same directory has the same path in
its file system, whatever the path on this machine is.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from traincrew.embedded.kubelet.runtime import host_mounts
from traincrew.embedded.kubelet.runtime.host_mounts import HostMount, is_within
from traincrew.embedded.kubelet.runtime.spec import EXEC_SOCKETS, FORMER_EXEC_SOCKETS

_MOUNTABLE = ("volumes", f"node/{EXEC_SOCKETS}", f"node/{FORMER_EXEC_SOCKETS}", "node/tools")
"""Parts of the data directory that may be mounted: persistent volumes, exec sockets (which need a ticket), tools."""

_UP = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC

Identity = tuple[int, int]
"""Device and inode."""


class VisiblePath(NamedTuple):
    path: str
    """On this machine."""
    part: str = ""
    """Which part of the directory is there; empty: the whole."""


def visible_paths(directory: str, mounts: Iterable[HostMount]) -> tuple[VisiblePath, ...]:
    """Every path of the directory, or of a part of it, without symbolic links. mounts: the visible ones, parents first."""
    mounts = tuple(mounts)
    own_mount = _mount_of(directory, mounts)
    path_in_file_system = _join(own_mount.root, os.path.relpath(directory, own_mount.path))
    found = {directory: ""}
    for mount in mounts:
        if mount.device != own_mount.device:
            continue
        if is_within(path_in_file_system, mount.root):
            path = _join(mount.path, os.path.relpath(path_in_file_system, mount.root))
            # Otherwise another mount covers it.
            if _mount_of(path, mounts) is mount:
                found[path] = ""
        elif is_within(mount.root, path_in_file_system):
            found[mount.path] = os.path.relpath(mount.root, path_in_file_system)
    return tuple(VisiblePath(path, part) for path, part in found.items())


def _mount_of(path: str, mounts: tuple[HostMount, ...]) -> HostMount:
    return [mount for mount in mounts if is_within(path, mount.path)][-1]


def _join(path: str, inner: str) -> str:
    return os.path.normpath(os.path.join(path, inner))


class HiddenDirectories:
    """Hides the cluster's data directory from pods, at every path where the mounts of this machine show it."""

    def __init__(self, directories: Iterable[str], pod_directory: str = "", mounts: tuple[HostMount, ...] | None = None) -> None:
        """pod_directory: of the pod whose containers may mount their own volumes and files. mounts: the visible ones."""
        shown = host_mounts.visible(host_mounts.read()) if mounts is None else mounts
        real = tuple(os.path.realpath(each) for each in directories)
        self._pod = os.path.realpath(pod_directory) if pod_directory else ""
        self._visible_paths = tuple(each for directory in real for each in visible_paths(directory, shown))
        self.identities = {each.path: identity(each.path) for each in self._visible_paths}
        """By path. None: there is nothing."""
        self._hidden = _identities(real)
        self._mountable = _identities([f"{path}/{name}" for path in real for name in _MOUNTABLE] + [self._pod] * bool(self._pod))

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.identities)

    def hides(self, path: str, opened: int, *, host_path: bool) -> bool:
        """Whether an open file or directory is in a hidden directory. That directory itself is not: an empty one covers it.

        path: of the descriptor. Its names decide, and the directories above it, whatever their names are meanwhile.
        host_path: what containers may mount otherwise is hidden, too.
        """
        if any(self._hides(each, path, host_path) for each in self._visible_paths):
            return True
        try:
            return _is_below(path, opened, self._hidden, set() if host_path else self._mountable)
        except PermissionError:
            return False

    def _hides(self, shown: VisiblePath, path: str, host_path: bool) -> bool:
        if not is_within(path, shown.path) or (path == shown.path and not shown.part):
            return False
        inner = _join(shown.part, os.path.relpath(path, shown.path))
        mountable = any(is_within(inner, each) for each in _MOUNTABLE) or (self._pod and is_within(path, self._pod))
        return host_path or not mountable


def identity(path: str) -> Identity | None:
    """None: the path does not exist, or is not accessible."""
    try:
        return _identity(os.stat(path, follow_symlinks=False))
    except OSError:
        return None


def _identities(paths: Iterable[str]) -> set[Identity]:
    return {found for path in paths if (found := identity(path)) is not None}


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def _is_below(path: str, opened: int, hidden: set[Identity], mountable: set[Identity]) -> bool:
    """Climbs from the descriptor to the root, until it meets a directory of one of the sets."""
    found = os.fstat(opened)
    if _identity(found) in mountable:
        return False
    here = os.open("..", _UP, dir_fd=opened) if stat.S_ISDIR(found.st_mode) else _parent_of_file(path, found)
    try:
        while True:
            current = os.fstat(here)
            if _identity(current) in mountable | hidden:
                return _identity(current) not in mountable
            above = os.open("..", _UP, dir_fd=here)
            os.close(here)
            here = above
            if os.path.samestat(current, os.fstat(here)):
                return False
    finally:
        os.close(here)


def _parent_of_file(path: str, found: os.stat_result) -> int:
    parent = os.open(os.path.dirname(path), _UP)
    if not os.path.samestat(os.stat(os.path.basename(path), dir_fd=parent, follow_symlinks=False), found):
        os.close(parent)
        raise OSError(errno.ESTALE, f"{path} was replaced meanwhile")
    return parent
