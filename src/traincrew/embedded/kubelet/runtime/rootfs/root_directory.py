"""Opens paths inside a rootfs: no symbolic link and no `..` leads out of it (as openat2 with RESOLVE_IN_ROOT)."""

from __future__ import annotations

import errno
import os
import stat

_OPEN_FLAGS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_LINKS = 40


class RootDirectory:
    """Walks a path name by name, so that the kernel never follows a link."""

    def __init__(self, top: str) -> None:
        self.top = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self.top)

    def open(self, path: str, make: str = "") -> int:
        """An O_PATH descriptor. make: "directory" or "file", to create a missing path."""
        walk = _Walk(self.top, path, make)
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
    def __init__(self, top: int, path: str, make: str) -> None:
        self.stack = [os.dup(top)]
        self.pending = path.split("/")[::-1]
        self.make = make
        self.links = 0

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

    def _enter(self, name: str) -> int:
        try:
            return os.open(name, _OPEN_FLAGS, dir_fd=self.stack[-1])
        except FileNotFoundError:
            if not self.make:
                raise
        self._create(name)
        return os.open(name, _OPEN_FLAGS, dir_fd=self.stack[-1])

    def _create(self, name: str) -> None:
        last = not any(part not in ("", ".") for part in self.pending)
        if last and self.make == "file":
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644, dir_fd=self.stack[-1]))
        else:
            os.mkdir(name, 0o755, dir_fd=self.stack[-1])

    def _follow(self, link: int) -> None:
        target = os.readlink("", dir_fd=link)
        os.close(link)
        self.links += 1
        if self.links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), target)
        if target.startswith("/"):
            while len(self.stack) > 1:
                os.close(self.stack.pop())
        self.pending.extend(target.split("/")[::-1])


def descriptor_path(descriptor: int) -> str:
    """A path for mount(2) that refers to the descriptor."""
    return f"/proc/self/fd/{descriptor}"
