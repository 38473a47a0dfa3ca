"""Takes a tree away: never through a symbolic link, never across a mount, however deep it is."""

from __future__ import annotations

import os
import stat

_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotRemoved(OSError):
    """Something in the tree is not ours to take away."""


def remove_tree(path: str) -> None:
    """Removes path and all below it; nothing there is fine. A mount below is left alone, and told of by NotRemoved."""
    parent, name = os.path.split(path.rstrip("/"))
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    above = os.open(parent or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if stat.S_ISDIR(found.st_mode):
            _Removal(above, name, path).run()
        else:
            os.unlink(name, dir_fd=above)
    finally:
        os.close(above)


class _Removal:
    """Holds one directory open at a time, so that neither depth nor descriptors run out."""

    def __init__(self, above: int, name: str, path: str) -> None:
        self._path = path
        self._here = os.dup(above)
        self._way: list[tuple[str, int, int]] = []
        """The directories gone down through: name, and who the one above it was."""
        self._mount = -1
        self._first = name

    def run(self) -> None:
        try:
            self._down(self._first)
            while self._way:
                child = self._clear()
                if child:
                    self._down(child)
                else:
                    self._up()
        finally:
            os.close(self._here)

    def _clear(self) -> str:
        """Removes what is no directory; the name of a directory that is left, or nothing."""
        with os.scandir(self._here) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_directory in names:
            if not is_directory:
                os.unlink(name, dir_fd=self._here)
        # Most are empty: they go without being entered.
        return next((name for name, is_directory in names if is_directory and not self._empty(name)), "")

    def _empty(self, name: str) -> bool:
        try:
            os.rmdir(name, dir_fd=self._here)
        except OSError:
            return False
        return True

    def _down(self, name: str) -> None:
        try:
            child = os.open(name, _STEP, dir_fd=self._here)
        except PermissionError:
            # An overlay leaves directories that nobody may enter.
            os.chmod(name, 0o700, dir_fd=self._here)
            child = os.open(name, _STEP, dir_fd=self._here)
        self._mount = mount_id(self._here) if self._mount < 0 and self._way else self._mount
        if self._way and mount_id(child) != self._mount:
            os.close(child)
            raise NotRemoved(f"{self._path}: {name} is a mount")
        above = os.fstat(self._here)
        os.close(self._here)
        self._here = child
        self._way.append((name, above.st_dev, above.st_ino))
        if len(self._way) > 1 or os.access(".", os.W_OK):
            self._allow()

    def _allow(self) -> None:
        mode = os.fstat(self._here).st_mode
        if mode & 0o700 != 0o700:
            os.fchmod(self._here, 0o700)

    def _up(self) -> None:
        name, device, number = self._way.pop()
        above = os.open("..", _STEP, dir_fd=self._here)
        found = os.fstat(above)
        os.close(self._here)
        self._here = above
        if (found.st_dev, found.st_ino) != (device, number):
            raise NotRemoved(f"{self._path} was moved while it was being removed")
        os.rmdir(name, dir_fd=above)


def mount_id(descriptor: int) -> int:
    with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))
