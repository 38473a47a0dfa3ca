"""Mounts at paths of a root that is being built."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory, descriptor_path

_STICKY = (
    (os.ST_RDONLY, syscalls.MS_RDONLY),
    (os.ST_NOSUID, syscalls.MS_NOSUID),
    (os.ST_NODEV, syscalls.MS_NODEV),
    (os.ST_NOEXEC, syscalls.MS_NOEXEC),
    (os.ST_NOATIME, syscalls.MS_NOATIME),
    (os.ST_NODIRATIME, syscalls.MS_NODIRATIME),
    (os.ST_RELATIME, syscalls.MS_RELATIME),
)
"""What a mount has and a user namespace may not take away."""


@contextlib.contextmanager
def mount_target(root: RootDirectory, path: str, make: str = "") -> Iterator[str]:
    """A path for mount(2), good until something is mounted there: the descriptor behind it shows what is below."""
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
    """Adds MOUNT_ATTR flags to what is mounted at path, and (since Linux 5.12) to all that is mounted below it."""
    with mount_target(root, path) as target:
        try:
            syscalls.restrict_mount(target, attributes)
        except OSError as refusal:
            if refusal.errno != errno.ENOSYS:
                raise
            _remount(target, attributes)


def remount_read_only(target: str) -> None:
    """Of this mount alone, unlike `restrict`."""
    _remount(target, syscalls.MOUNT_ATTR_RDONLY)


def _remount(target: str, attributes: int) -> None:
    has = os.statvfs(target).f_flag
    kept = sum(flag for seen, flag in _STICKY if has & seen)
    # The lowest four flags have the same values in both interfaces.
    syscalls.mount("", target, "", syscalls.MS_REMOUNT | syscalls.MS_BIND | kept | attributes)
