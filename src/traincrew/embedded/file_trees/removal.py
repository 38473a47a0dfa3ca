"""Removes a directory tree, whatever a pod has made of it. Mounts in it are kept."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import itertools
import os
import stat
from collections.abc import Callable

from traincrew.embedded.file_trees import inode_flags
from traincrew.embedded.file_trees.cursor import MountPoint, TreeCursor, open_directory

_CHUNK = 1024
"""Entries that are read at once: a directory may have millions."""
_MAX_FAILED = 1024
"""Entries of one directory that cannot be removed before the rest of the directory is left alone."""


class NotRemoved(OSError):
    """A part of the tree is left: it contains a mount, or entries that this process may not remove."""


def remove_tree(path: str | os.PathLike[str], interrupted: Callable[[], bool] = lambda: False) -> None:
    """Removes path, if it exists, and everything below it. Removes as much as possible before it raises NotRemoved.

    interrupted: asked again and again; ends the removal if it returns True.
    """
    folder, name = os.path.split(os.fspath(path).rstrip("/"))
    try:
        parent = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        removal = _Removal(parent, name)
        removal.run(interrupted)
    finally:
        os.close(parent)
    if removal.failures:
        raise NotRemoved(f"{os.fspath(path)}: {removal.failures[0]}")


@dataclasses.dataclass
class _Level:
    """One directory on the path from the top to the current directory."""

    unvisited: list[str] = dataclasses.field(default_factory=list)
    """Directories in it that are not empty."""
    failed: set[str] = dataclasses.field(default_factory=set)
    """Entries that cannot be removed."""


class _Removal:
    def __init__(self, parent: int, name: str) -> None:
        self._cursor = TreeCursor(parent)
        self._levels = [_Level()]
        self.failures: list[str] = []
        """Why the first entries could not be removed."""
        with contextlib.suppress(FileNotFoundError):
            self._remove(name, stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode))

    def run(self, interrupted: Callable[[], bool]) -> None:
        try:
            while True:
                if interrupted():
                    self.failures.insert(0, "the removal was interrupted")
                    return
                level = self._levels[-1]
                if level.unvisited:
                    self._enter(level.unvisited.pop())
                elif len(self._levels) == 1:
                    return
                elif not self._clear(level):
                    self._leave()
        finally:
            self._cursor.close()

    def _clear(self, level: _Level) -> bool:
        """Removes files and empty directories. Returns whether the directory had any that can be removed."""
        if len(level.failed) >= _MAX_FAILED:
            return False
        try:
            with os.scandir(self._cursor.directory) as entries:
                left = (entry for entry in entries if entry.name not in level.failed)
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in itertools.islice(left, _CHUNK)]
        except OSError as error:
            self._fail("the directory", error)
            return False
        for name, is_directory in found:
            self._remove(name, is_directory)
        return bool(found)

    def _remove(self, name: str, is_directory: bool) -> None:
        if not is_directory:
            self._attempt(os.unlink, name)
            return
        try:
            os.rmdir(name, dir_fd=self._cursor.directory)  # most directories are empty and need not be entered
        except OSError:
            self._levels[-1].unvisited.append(name)

    def _enter(self, name: str) -> None:
        try:
            self._cursor.enter(name, _open_unlocked)
        except FileNotFoundError:
            return
        except NotADirectoryError:
            self._attempt(os.unlink, name)
        except OSError as error:
            self._fail(name, error)
        else:
            self._levels.append(_Level())

    def _leave(self) -> None:
        depth = self._cursor.depth
        name = self._cursor.leave()
        del self._levels[self._cursor.depth + 1 :]
        if self._cursor.depth != depth - 1:
            return  # directories were moved: this one is not below the current one
        self._attempt(os.rmdir, name)

    def _attempt(self, remove: Callable[..., None], name: str) -> None:
        """Removes an entry, if need be after its immutable flag and that of its directory are cleared."""
        directory = self._cursor.directory
        try:
            try:
                remove(name, dir_fd=directory)
            except PermissionError:
                inode_flags.clear(directory)
                inode_flags.clear_entry(name, directory)
                remove(name, dir_fd=directory)
        except FileNotFoundError:
            return
        except OSError as error:
            self._fail(name, error)

    def _fail(self, name: str, error: OSError) -> None:
        """A directory that is not empty contains an entry whose failure is known already."""
        self._levels[-1].failed.add(name)
        if error.errno != errno.ENOTEMPTY or not self.failures:
            reason = "is a mount" if isinstance(error, MountPoint) else f"cannot be removed: {error.strerror}"
            # Escaped: a name may contain any bytes.
            self.failures = [*self.failures[:9], f"{repr(name)[1:-1]} {reason}"]


def _open_unlocked(name: str, parent: int) -> int:
    """Opens a directory and makes it writable for its owner. An overlay leaves directories without any permission."""
    try:
        child = open_directory(name, parent)
    except PermissionError:
        child = _open_without_permissions(name, parent)
    mode = os.fstat(child).st_mode
    if mode & 0o700 != 0o700:
        with contextlib.suppress(OSError):  # then the removal of its entries fails
            os.fchmod(child, 0o700)
    return child


def _open_without_permissions(name: str, parent: int) -> int:
    found = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        # These links lead to the directory itself, whatever its name stands for now.
        os.chmod(f"/proc/self/fd/{found}", 0o700)
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(found)
