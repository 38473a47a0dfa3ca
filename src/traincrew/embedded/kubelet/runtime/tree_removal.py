"""Removes a directory tree of any depth. Never follows a symbolic link, never crosses a mount."""

from __future__ import annotations

import os
import stat

_OPEN_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotRemoved(OSError):
    """The tree was not removed completely: it contains a mount, or was moved."""


def remove_tree(path: str) -> None:
    """Removes path, if it exists, and everything below it. NotRemoved: there is a mount below it."""
    folder, name = os.path.split(path.rstrip("/"))
    try:
        stat_result = os.lstat(path)
    except FileNotFoundError:
        return
    parent = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if stat.S_ISDIR(stat_result.st_mode):
            _Removal(parent, name, path).run()
        else:
            os.unlink(name, dir_fd=parent)
    finally:
        os.close(parent)


class _Removal:
    """Keeps one directory open at a time, so that depth is not limited by descriptors."""

    def __init__(self, parent: int, name: str, path: str) -> None:
        self._path = path
        self._current = os.dup(parent)
        self._path_down: list[tuple[str, int, int]] = []
        """The path from the top: name of each directory, and device and inode of its parent."""
        self._mount = -1
        self._name = name

    def run(self) -> None:
        try:
            self._down(self._name)
            while self._path_down:
                child = self._clear()
                if child:
                    self._down(child)
                else:
                    self._up()
        finally:
            os.close(self._current)

    def _clear(self) -> str:
        """Removes files and empty directories. Returns the name of a directory that is left, or ""."""
        with os.scandir(self._current) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_directory in names:
            if not is_directory:
                os.unlink(name, dir_fd=self._current)
        # Most directories are empty and need not be entered.
        return next((name for name, is_directory in names if is_directory and not self._remove_empty(name)), "")

    def _remove_empty(self, name: str) -> bool:
        try:
            os.rmdir(name, dir_fd=self._current)
        except OSError:
            return False
        return True

    def _down(self, name: str) -> None:
        try:
            child = os.open(name, _OPEN_FLAGS, dir_fd=self._current)
        except PermissionError:
            # An overlay leaves directories without any permission.
            os.chmod(name, 0o700, dir_fd=self._current)
            child = os.open(name, _OPEN_FLAGS, dir_fd=self._current)
        self._mount = mount_id(self._current) if self._mount < 0 and self._path_down else self._mount
        if self._path_down and mount_id(child) != self._mount:
            os.close(child)
            raise NotRemoved(f"{self._path}: {name} is a mount")
        parent = os.fstat(self._current)
        os.close(self._current)
        self._current = child
        self._path_down.append((name, parent.st_dev, parent.st_ino))
        if len(self._path_down) > 1 or os.access(".", os.W_OK):
            self._add_permissions()

    def _add_permissions(self) -> None:
        mode = os.fstat(self._current).st_mode
        if mode & 0o700 != 0o700:
            os.fchmod(self._current, 0o700)

    def _up(self) -> None:
        name, device, number = self._path_down.pop()
        parent = os.open("..", _OPEN_FLAGS, dir_fd=self._current)
        stat_result = os.fstat(parent)
        os.close(self._current)
        self._current = parent
        if (stat_result.st_dev, stat_result.st_ino) != (device, number):
            raise NotRemoved(f"{self._path} was moved while it was being removed")
        os.rmdir(name, dir_fd=parent)


def mount_id(descriptor: int) -> int:
    with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))
