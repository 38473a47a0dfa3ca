"""Mounts inside a rootfs that is being built. Source and target are opened once, and the descriptors are mounted."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory, descriptor_path

_KEPT_FLAGS = (
    (os.ST_RDONLY, syscalls.MS_RDONLY),
    (os.ST_NOSUID, syscalls.MS_NOSUID),
    (os.ST_NODEV, syscalls.MS_NODEV),
    (os.ST_NOEXEC, syscalls.MS_NOEXEC),
    (os.ST_NOATIME, syscalls.MS_NOATIME),
    (os.ST_NODIRATIME, syscalls.MS_NODIRATIME),
    (os.ST_RELATIME, syscalls.MS_RELATIME),
)
"""Flags of a mount that a user namespace may not clear."""


@contextlib.contextmanager
def opened(root: RootDirectory, path: str, make: str = "") -> Iterator[int]:
    descriptor = root.open(path, make)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def mount_target(root: RootDirectory, path: str, make: str = "") -> Iterator[str]:
    """A path for mount(2). Invalid after a mount there: its descriptor still refers to the covered directory."""
    with opened(root, path, make) as descriptor:
        yield descriptor_path(descriptor)


def bind(root: RootDirectory, source: str, path: str, attributes: int = 0) -> None:
    """source: a path that no pod can change."""
    descriptor = os.open(source, os.O_PATH | os.O_CLOEXEC)
    try:
        with opened(root, path) as target:
            bind_open(root, descriptor, path, target, attributes)
    finally:
        os.close(descriptor)


def bind_open(root: RootDirectory, source: int, path: str, target: int, attributes: int = 0) -> None:
    """As `bound`, if the new mount is not needed."""
    with bound(root, source, path, target, attributes):
        pass


@contextlib.contextmanager
def bound(root: RootDirectory, source: int, path: str, target: int, attributes: int = 0) -> Iterator[int]:
    """Mounts the file or directory, with all mounts below it, at the open target. Yields a descriptor of the new mount.

    path: of the target. It is opened again only if the kernel is too old to mount by descriptors.
    """
    try:
        mounted = syscalls.clone_mount(source)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        mounted = _bind_by_path(root, source, path, target)
    else:
        syscalls.attach_mount(mounted, target)
    try:
        restrict(mounted, attributes)
        yield mounted
    finally:
        os.close(mounted)


def _bind_by_path(root: RootDirectory, source: int, path: str, target: int) -> int:
    """Before Linux 5.2. The path may lead elsewhere now, but not to another mount of the source."""
    syscalls.mount(descriptor_path(source), descriptor_path(target), "", syscalls.MS_BIND | syscalls.MS_REC)
    mounted = root.open(path)
    if not os.path.sameopenfile(mounted, source):
        os.close(mounted)
        raise OSError(errno.ESTALE, "the mount path was replaced meanwhile")
    return mounted


def tmpfs(root: RootDirectory, path: str, options: str, flags: int = 0) -> None:
    with mount_target(root, path, make="directory") as target:
        syscalls.mount("tmpfs", target, "tmpfs", flags | syscalls.MS_NOSUID | syscalls.MS_NODEV, options)


def restrict(mount: int, attributes: int) -> None:
    """Adds MOUNT_ATTR flags to the mount and, since Linux 5.12, to all mounts below it."""
    if not attributes:
        return
    try:
        syscalls.restrict_mount(mount, attributes)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        _remount(descriptor_path(mount), attributes)


def remount_read_only(target: str) -> None:
    """Of this mount only, unlike `restrict`."""
    _remount(target, syscalls.MOUNT_ATTR_RDONLY)


def _remount(target: str, attributes: int) -> None:
    has = os.statvfs(target).f_flag
    kept = sum(flag for seen, flag in _KEPT_FLAGS if has & seen)
    # The lowest four flags have the same values in both interfaces.
    syscalls.mount("", target, "", syscalls.MS_REMOUNT | syscalls.MS_BIND | kept | attributes)
