"""The writable overlay layer of a container, stored in the pod's directory."""

from __future__ import annotations

import contextlib
import errno
import os

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.spec import Isolation

_ROOT_OPTIONS = "redirect_dir=on,index=off"
"""redirect_dir lets the container rename directories of the host, as package managers do."""
_USER_OPTIONS = "userxattr"


_SUPPORTED = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs"})
"""File systems known to support an overlay's upper directory. Others are tested."""

_OVERFLOW_ID = 65534
"""The id that an unmapped owner has in a user namespace."""


class WritableLayer:
    """The layer directory of one container attempt."""

    def __init__(self, directory: str, kind: str, isolation: Isolation, privileged: bool = False) -> None:
        """kind: type of the file system of the directory."""
        self.directory = directory
        self.flags = 0 if privileged else syscalls.MS_NODEV
        self._options = _USER_OPTIONS if isolation is Isolation.USER else _ROOT_OPTIONS
        self._volatile = True
        self._count = 0
        os.makedirs(directory, 0o700, exist_ok=True)
        os.chdir(directory)
        if kind not in _SUPPORTED and not self._supports_overlay():
            syscalls.mount("tmpfs", directory, "tmpfs", syscalls.MS_NODEV, "mode=700,size=50%")
            os.chdir(directory)

    def create_directory(self, name: str, mode: int) -> str:
        """Creates an empty directory in the layer."""
        path = f"{self.directory}/{name}"
        os.makedirs(path)
        os.chmod(path, mode)
        return path

    def upper_for(self, lower: str) -> str:
        """Creates an upper directory for lower, with its mode and owner."""
        upper = self.create_directory(f"uppers/{self._count}", 0o700)
        copy_mode_and_owner(upper, os.stat(lower))
        return upper

    def overlay(self, lower: str, upper: str, target: str) -> None:
        # Relative paths, because mount options cannot hold the commas and colons of the pod's directory.
        above, work = upper.removeprefix(f"{self.directory}/"), f"work/{self._count}"
        os.makedirs(work)
        self._count += 1
        options = f"lowerdir={_escaped(lower)},upperdir={_escaped(above)},workdir={work},{self._options}"
        if self._volatile:
            try:
                # The layer ends with the container, so its data need not reach the disk.
                syscalls.mount("overlay", target, "overlay", self.flags, options + ",volatile")
                return
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
        syscalls.mount("overlay", target, "overlay", self.flags, options)
        self._volatile = False

    def _supports_overlay(self) -> bool:
        below, merged = self.create_directory("trial/below", 0o700), self.create_directory("trial/merged", 0o700)
        upper = self.upper_for(below)
        try:
            self.overlay(below, upper, merged)
        except OSError:
            return False
        syscalls.umount(merged)
        return True


def copy_mode_and_owner(path: str, example: os.stat_result) -> None:
    os.chmod(path, example.st_mode & 0o7777 | 0o700)
    if (example.st_uid, example.st_gid) == (os.geteuid(), os.getegid()) or _OVERFLOW_ID in (example.st_uid, example.st_gid):
        return
    # The owner is not mapped in this user namespace: the directory stays with the container's root.
    with contextlib.suppress(OSError):
        os.chown(path, example.st_uid, example.st_gid)


def _escaped(path: str) -> str:
    return "".join("\\" + letter if letter in "\\:," else letter for letter in path)
