"""Opens paths below a directory that processes of a pod may change meanwhile: no symbolic link and no `..` leads out of it.

A path is walked name by name from one open directory to the next, so the kernel never follows a link, and a directory that is
replaced by a link during the walk changes nothing. Use the descriptor: a path that is opened again may lead elsewhere. A walk
takes two descriptors however long the path is.
"""

from __future__ import annotations

import enum
import errno
import os
import stat

_OPEN_FLAGS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_LINKS = 40
PATH_MAX = 4096
"""Bytes of a path, with the zero at its end, as in the kernel."""

Identity = tuple[int, int]
"""Device and inode."""


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
        """An O_PATH descriptor. make: "directory" or "file", to create a missing path; mode: of created directories.

        Raises OSError, also for a path that is too long or contains a zero byte.
        """
        _check(path)
        walk = _Walk(self.top, path, self._resolve, make, mode)
        try:
            while walk.pending:
                walk.step()
        except BaseException:
            os.close(walk.here)
            raise
        return walk.here

    def exists(self, path: str) -> bool:
        try:
            os.close(self.open(path))
        except OSError:
            return False
        return True


def _check(path: str) -> None:
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ)) from None
    if b"\0" in encoded:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    if len(encoded) >= PATH_MAX:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))


class _Walk:
    def __init__(self, top: int, path: str, resolve: Resolve, make: str, mode: int) -> None:
        self._top = top
        self.here = os.dup(top)
        """The entry that was reached."""
        self.pending = path.split("/")[::-1]
        self._above: list[Identity] = []
        """The directories from the top to the one above the current entry."""
        self._resolve, self._make, self._mode = resolve, make, mode
        self._links = 0

    def step(self) -> None:
        name = self.pending.pop()
        if name in ("", "."):
            return
        if name == "..":
            self._up()
            return
        entered = self._enter(name)
        if stat.S_ISLNK(os.fstat(entered).st_mode):
            self._follow(entered)
        else:
            self._above.append(_identity(self.here))
            self._move(entered)

    def _move(self, entered: int) -> None:
        os.close(self.here)
        self.here = entered

    def _up(self) -> None:
        if not self._above:
            if self._resolve is not Resolve.IN_ROOT:
                raise OSError(errno.EXDEV, "leads out of its directory")
            return
        parent = os.open("..", _OPEN_FLAGS, dir_fd=self.here)
        if _identity(parent) != self._above.pop():
            os.close(parent)
            raise OSError(errno.ESTALE, "a directory was moved meanwhile")
        self._move(parent)

    def _enter(self, name: str) -> int:
        try:
            return os.open(name, _OPEN_FLAGS, dir_fd=self.here)
        except FileNotFoundError:
            if not self._make:
                raise
        created = self._create(name)
        entered = os.open(name, _OPEN_FLAGS, dir_fd=self.here)
        found = os.fstat(entered).st_mode
        if created and stat.S_ISDIR(found):
            try:
                # Whatever the umask is. A group that directories inherit stays.
                _change_mode(entered, self._mode | found & stat.S_ISGID)
            except BaseException:
                os.close(entered)
                raise
        return entered

    def _create(self, name: str) -> bool:
        """False: another process was faster."""
        last = not any(part not in ("", ".") for part in self.pending)
        try:
            if last and self._make == "file":
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644, dir_fd=self.here))
            else:
                os.mkdir(name, 0o700, dir_fd=self.here)
        except FileExistsError:
            return False
        return True

    def _follow(self, link: int) -> None:
        try:
            target = os.readlink("", dir_fd=link)
        finally:
            os.close(link)
        self._links += 1
        if self._links > _MAX_LINKS or self._resolve is Resolve.NO_SYMLINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), target)
        if target.startswith("/"):
            if self._resolve is Resolve.BENEATH:
                raise OSError(errno.EXDEV, "leads out of its directory")
            self._above.clear()
            self._move(os.dup(self._top))
        self.pending.extend(target.split("/")[::-1])


def _identity(descriptor: int) -> Identity:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


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
