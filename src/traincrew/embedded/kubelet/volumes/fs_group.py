"""fsGroup: gives the files of a volume, existing and future ones, to a group.

Also runs as a program inside a user namespace, so it uses the standard library only."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys

READ_WRITE, READ, ENTER = 0o660, 0o440, 0o110
TIMEOUT_SECONDS = 600.0
"""Seconds, enough for a claim with very many files."""


def apply(path: str, group: int, read_only: bool = False) -> None:
    """Changes the group of all files, by descriptors: no symbolic link leads out of the volume. Raises OSError."""
    _apply_one(path, group, read_only)
    for _, directories, files, descriptor in os.fwalk(path, follow_symlinks=False):
        for name in (*directories, *files):
            _apply_one(name, group, read_only, descriptor)


def _apply_one(name: str, group: int, read_only: bool, directory: int | None = None) -> None:
    mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    os.chown(name, -1, group, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(mode):
        return
    required = mode | (READ if read_only else READ_WRITE)
    if stat.S_ISDIR(mode):
        required |= ENTER | stat.S_ISGID
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory) if _has_mode(mode) else -1
    if opened >= 0:
        try:
            os.fchmod(opened, stat.S_IMODE(required))
        finally:
            os.close(opened)


def _has_mode(mode: int) -> bool:
    """Sockets and devices keep their modes."""
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def is_applied(path: str, group: int) -> bool:
    """Whether the top directory already has the group and mode (fsGroupChangePolicy OnRootMismatch)."""
    status = os.stat(path)
    required = READ_WRITE | ENTER
    return (
        status.st_gid == group
        and stat.S_ISDIR(status.st_mode)
        and status.st_mode & required == required
        and bool(status.st_mode & stat.S_ISGID)
    )


def apply_in_namespace(pid: int, path: str, group: int, read_only: bool = False) -> str:
    """Applies it inside the user namespace of that process. Returns an error message, or an empty string."""
    words = [sys.executable, "-IS", __file__, str(pid), path, str(group), str(int(read_only))]
    done = subprocess.run(words, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    return done.stderr.decode(errors="replace").strip() if done.returncode else ""


def _enter(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
    if libc.setns(descriptor, 0x10000000):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def main(words: list[str]) -> None:
    try:
        _enter(int(words[0]))
        os.setgid(0)
        os.setuid(0)
        apply(words[1], int(words[2]), words[3] == "1")
    except OSError as error:
        sys.exit(f"{error.strerror}: {error.filename or 'user namespace'}")


if __name__ == "__main__":
    main(sys.argv[1:])
