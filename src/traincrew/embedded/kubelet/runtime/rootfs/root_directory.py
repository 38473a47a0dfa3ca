"""Opens paths below a directory that processes of a pod may change meanwhile: no symbolic link and no `..` leads out of it.

A path is walked name by name and each directory stays open, so the kernel never follows a link, and a directory that is replaced
by a link during the walk changes nothing. Use the descriptor: a path that is opened again may lead elsewhere.
"""

from __future__ import annotations

import enum
import errno
import os
import stat

_OPEN_FLAGS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_LINKS = 40


class Resolve(enum.Enum):
    """What becomes of symbolic links, in the words of openat2."""

    IN_ROOT = "absolute links and `..` stay within the directory, as after a chroot"
    BENEATH = "a link that leads out of the directory is an error"
    NO_SYMLINKS = "every link is an error"


class RootDirectory:
    def __init__(self, top: str | int, resolve: Resolve = Resolve.IN_ROOT) -> None:
        """top: a path, or a descriptor, which stays the caller's."""
        self.top = os.dup(top) if isinstance(top, int) else os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._resolve = resolve

    def close(self) -> None:
        os.close(self.top)

    def open(self, path: str, make: str = "", mode: int = 0o755) -> int:
        """An O_PATH descriptor. make: "directory" or "file", to create a missing path; mode: of created directories."""
        walk = _Walk(self.top, path, self._resolve, make, mode)
        try:
            while walk.pending:
                walk.step()
            return os.dup(walk.stack[-1])
        finally:
            walk.close()

    def exists(self, path: str) -> bool:
        try:
            os.close(self.open(path))
        except OSError:
            return False
        return True


class _Walk:
    def __init__(self, top: int, path: str, resolve: Resolve, make: str, mode: int) -> None:
        self.stack = [os.dup(top)]
        self.pending = path.split("/")[::-1]
        self._resolve, self._make, self._mode = resolve, make, mode
        self._links = 0

    def step(self) -> None:
        name = self.pending.pop()
        if name in ("", "."):
            return
        if name == "..":
            self._up()
            return
        here = self._enter(name)
        if stat.S_ISLNK(os.fstat(here).st_mode):
            self._follow(here)
        else:
            self.stack.append(here)

    def close(self) -> None:
        for descriptor in self.stack:
            os.close(descriptor)

    def _up(self) -> None:
        if len(self.stack) > 1:
            os.close(self.stack.pop())
        elif self._resolve is not Resolve.IN_ROOT:
            raise OSError(errno.EXDEV, "leads out of its directory")

    def _enter(self, name: str) -> int:
        try:
            return os.open(name, _OPEN_FLAGS, dir_fd=self.stack[-1])
        except FileNotFoundError:
            if not self._make:
                raise
        created = self._create(name)
        entered = os.open(name, _OPEN_FLAGS, dir_fd=self.stack[-1])
        found = os.fstat(entered).st_mode
        if created and stat.S_ISDIR(found):
            # Whatever the umask is. A group that directories inherit stays.
            _change_mode(entered, self._mode | found & stat.S_ISGID)
        return entered

    def _create(self, name: str) -> bool:
        """False: another process was faster."""
        last = not any(part not in ("", ".") for part in self.pending)
        try:
            if last and self._make == "file":
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644, dir_fd=self.stack[-1]))
            else:
                os.mkdir(name, 0o700, dir_fd=self.stack[-1])
        except FileExistsError:
            return False
        return True

    def _follow(self, link: int) -> None:
        target = os.readlink("", dir_fd=link)
        os.close(link)
        self._links += 1
        if self._links > _MAX_LINKS or self._resolve is Resolve.NO_SYMLINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), target)
        if target.startswith("/"):
            if self._resolve is Resolve.BENEATH:
                raise OSError(errno.EXDEV, "leads out of its directory")
            while len(self.stack) > 1:
                os.close(self.stack.pop())
        self.pending.extend(target.split("/")[::-1])


def _change_mode(directory: int, mode: int) -> None:
    """Of a directory that this process has created. Works without /proc, which shows other processes in a container."""
    readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.fchmod(readable, mode)
    finally:
        os.close(readable)


def descriptor_path(descriptor: int) -> str:
    """A path for mount(2) that refers to the descriptor."""
    return f"/proc/self/fd/{descriptor}"
