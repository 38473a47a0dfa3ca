"""Mount namespaces that contain one file system only. A container takes a copy of it when its rootfs is built."""

from __future__ import annotations

import os

from traincrew.embedded.kubelet.runtime import syscalls


def create() -> int:
    """Moves this process into a new mount namespace with the same mounts. Returns a descriptor of it."""
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    return os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)


def replace_root(kind: str, directory: str, flags: int, options: str = "") -> None:
    """Replaces all mounts of this process's own mount namespace by a new file system.

    directory: where the file system is mounted for a moment. Other processes do not see it.
    """
    syscalls.mount(kind, directory, kind, flags, options)
    os.chdir(directory)
    syscalls.pivot_root(".", ".")
    # The host's root now covers the new one. After the unmount no path leads back to it.
    syscalls.umount(".", syscalls.MNT_DETACH)
    os.chdir("/")


def clone_root(namespace: int) -> int:
    """A detached copy of the root of a mount namespace, for this process's own one. OSError: ENOSYS before Linux 5.2."""
    own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.setns(namespace, syscalls.CLONE_NEWNS)
        try:
            return _clone("/")
        finally:
            syscalls.setns(own, syscalls.CLONE_NEWNS)
    finally:
        os.close(own)


def _clone(path: str) -> int:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return syscalls.clone_mount(descriptor)
    finally:
        os.close(descriptor)
