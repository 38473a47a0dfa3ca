"""A container's private layers: what the host has shows through, what is written lands in the pod's directory."""

from __future__ import annotations

import contextlib
import errno
import os

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.spec import Isolation

_ROOT_OPTIONS = "redirect_dir=on,index=off"
"""Directories of the host can be renamed: package tools do."""
_USER_OPTIONS = "userxattr"


_ABLE = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs"})
"""File systems known to carry upper layers; of others it is tried."""

_OVERFLOW = 65534
"""How an owner looks who has no name in this user namespace."""


class WritableLayer:
    """The directory of one container's attempt."""

    def __init__(self, directory: str, kind: str, isolation: Isolation, privileged: bool = False) -> None:
        """kind: of the file system that directory is on."""
        self.directory = directory
        self.flags = 0 if privileged else syscalls.MS_NODEV
        self._options = _USER_OPTIONS if isolation is Isolation.USER else _ROOT_OPTIONS
        self._volatile = True
        self._count = 0
        os.makedirs(directory, 0o700, exist_ok=True)
        os.chdir(directory)
        if kind not in _ABLE and not self._carries():
            syscalls.mount("tmpfs", directory, "tmpfs", syscalls.MS_NODEV, "mode=700,size=50%")
            os.chdir(directory)

    def plain(self, name: str, mode: int) -> str:
        """An empty directory of the layer that is not laid over anything."""
        path = f"{self.directory}/{name}"
        os.makedirs(path)
        os.chmod(path, mode)
        return path

    def upper_for(self, lower: str) -> str:
        """A directory to take what is written to lower; directories put in before `overlay` merge with lower's."""
        upper = self.plain(f"uppers/{self._count}", 0o700)
        copy_mode_and_owner(upper, os.stat(lower))
        return upper

    def overlay(self, lower: str, upper: str, target: str) -> None:
        # Relative, for the parser of mount options trips over commas and colons of the pod's directory.
        above, work = upper.removeprefix(f"{self.directory}/"), f"work/{self._count}"
        os.makedirs(work)
        self._count += 1
        options = f"lowerdir={_escaped(lower)},upperdir={_escaped(above)},workdir={work},{self._options}"
        if self._volatile:
            try:
                # The layer goes with the container: nobody waits for the disk on its behalf.
                syscalls.mount("overlay", target, "overlay", self.flags, options + ",volatile")
                return
            except OSError as refusal:
                if refusal.errno != errno.EINVAL:
                    raise
        syscalls.mount("overlay", target, "overlay", self.flags, options)
        self._volatile = False

    def _carries(self) -> bool:
        below, merged = self.plain("trial/below", 0o700), self.plain("trial/merged", 0o700)
        upper = self.upper_for(below)
        try:
            self.overlay(below, upper, merged)
        except OSError:
            return False
        syscalls.umount(merged)
        return True


def copy_mode_and_owner(path: str, example: os.stat_result) -> None:
    os.chmod(path, example.st_mode & 0o7777 | 0o700)
    if (example.st_uid, example.st_gid) == (os.geteuid(), os.getegid()) or _OVERFLOW in (example.st_uid, example.st_gid):
        return
    # An owner without a name in this user namespace: then it stays with the container's root.
    with contextlib.suppress(OSError):
        os.chown(path, example.st_uid, example.st_gid)


def _escaped(path: str) -> str:
    return "".join("\\" + letter if letter in "\\:," else letter for letter in path)
