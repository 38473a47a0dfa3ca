"""Mounts inside a rootfs that is being built."""

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
def mount_target(root: RootDirectory, path: str, make: str = "") -> Iterator[str]:
    """A path for mount(2). Invalid after a mount there: its descriptor still refers to the covered directory."""
    descriptor = root.open(path, make)
    try:
        yield descriptor_path(descriptor)
    finally:
        os.close(descriptor)


def bind(root: RootDirectory, source: str, path: str, attributes: int = 0) -> None:
    with mount_target(root, path) as target:
        syscalls.mount(source, target, "", syscalls.MS_BIND | syscalls.MS_REC)
    if attributes:
        restrict(root, path, attributes)


def tmpfs(root: RootDirectory, path: str, options: str, flags: int = 0) -> None:
    with mount_target(root, path, make="directory") as target:
        syscalls.mount("tmpfs", target, "tmpfs", flags | syscalls.MS_NOSUID | syscalls.MS_NODEV, options)


def restrict(root: RootDirectory, path: str, attributes: int) -> None:
    """Adds MOUNT_ATTR flags to the mount at path and, since Linux 5.12, to all mounts below it."""
    with mount_target(root, path) as target:
        try:
            syscalls.restrict_mount(target, attributes)
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise
            _remount(target, attributes)


def remount_read_only(target: str) -> None:
    """Of this mount only, unlike `restrict`."""
    _remount(target, syscalls.MOUNT_ATTR_RDONLY)


def _remount(target: str, attributes: int) -> None:
    has = os.statvfs(target).f_flag
    kept = sum(flag for seen, flag in _KEPT_FLAGS if has & seen)
    # The lowest four flags have the same values in both interfaces.
    syscalls.mount("", target, "", syscalls.MS_REMOUNT | syscalls.MS_BIND | kept | attributes)
