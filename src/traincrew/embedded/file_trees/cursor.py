"""A position in a directory tree. It needs two descriptors, however deep the tree is."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

OPEN_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Identity = tuple[int, int]
"""Device and inode."""
Open = Callable[[str, int], int]
"""Opens the directory of that name in an open directory."""


class MountPoint(OSError):
    """The directory is a mount. Mounts are not entered."""


def open_directory(name: str, parent: int) -> int:
    return os.open(name, OPEN_FLAGS, dir_fd=parent)


class TreeCursor:
    """Follows no symbolic link and enters no mount."""

    def __init__(self, top: int) -> None:
        """top: an open directory, which the caller closes."""
        self._top = top
        self.directory = os.dup(top)
        """The current directory."""
        self._mount = mount_id(top)
        self._path: list[tuple[str, Identity]] = []

    @property
    def depth(self) -> int:
        return len(self._path)

    def enter(self, name: str, opened_by: Open = open_directory) -> None:
        """Raises OSError or its subclass MountPoint."""
        child = opened_by(name, self.directory)
        try:
            if mount_id(child) != self._mount:
                raise MountPoint(errno.EBUSY, "is a mount", name)
            self._path.append((name, _identity(child)))
        except BaseException:
            os.close(child)
            raise
        self._move(child)

    def leave(self) -> str:
        """Goes to the parent directory. Returns the name of the directory that was left.

        If directories were moved meanwhile, the cursor is then in the nearest one that is still in its place.
        """
        name, _ = self._path.pop()
        self._move(os.open("..", OPEN_FLAGS, dir_fd=self.directory))
        if _identity(self.directory) != (self._path[-1][1] if self._path else _identity(self._top)):
            self._descend_again()
        return name

    def close(self) -> None:
        os.close(self.directory)

    def _descend_again(self) -> None:
        path, self._path = self._path, []
        self._move(os.dup(self._top))
        for name, known in path:
            try:
                child = open_directory(name, self.directory)
            except OSError:
                return
            if _identity(child) != known:
                os.close(child)
                return
            self._path.append((name, known))
            self._move(child)

    def _move(self, directory: int) -> None:
        os.close(self.directory)
        self.directory = directory


def mount_id(descriptor: int) -> int:
    with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))


def _identity(descriptor: int) -> Identity:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
