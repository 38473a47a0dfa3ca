"""fsGroup: gives the files of a volume, existing and future ones, to a group.

Also runs as a program inside a user namespace, so it uses the standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import stat
import subprocess
import sys

import traincrew
from traincrew.embedded.file_trees import walk

READ_WRITE, READ, ENTER = 0o660, 0o440, 0o110
TIMEOUT_SECONDS = 600.0
"""Seconds, enough for a claim with very many files."""
_SOURCE = pathlib.Path(traincrew.__file__).parent.parent
_START = "import sys, runpy; sys.path.append(sys.argv.pop(1)); runpy.run_path(sys.argv.pop(1), run_name='__main__')"
"""Runs this file alone: its package imports more than the standard library."""


def apply(path: str, group: int, read_only: bool = False) -> None:
    """Changes the group of all files, by descriptors: no symbolic link leads out of the volume. Raises OSError."""
    _apply_one(path, group, read_only)
    if os.path.islink(path):
        return
    for entry in walk.walk(path):
        with contextlib.suppress(FileNotFoundError):  # another pod of a claim may have removed it
            _apply_one(entry.name, group, read_only, entry.directory)


def _apply_one(name: str, group: int, read_only: bool, directory: int | None = None) -> None:
    """Opens the entry without effect on it: its name may stand for something else a moment later."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        mode = os.fstat(found).st_mode
        if stat.S_ISLNK(mode):
            os.chown(name, -1, group, dir_fd=directory, follow_symlinks=False)
            return
        os.chown(f"/proc/self/fd/{found}", -1, group)
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # sockets and devices keep their modes
            os.chmod(f"/proc/self/fd/{found}", _required_mode(mode, read_only))
    finally:
        os.close(found)


def _required_mode(mode: int, read_only: bool) -> int:
    required = mode | (READ if read_only else READ_WRITE)
    if stat.S_ISDIR(mode):
        required |= ENTER | stat.S_ISGID
    return stat.S_IMODE(required)


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
    words = [sys.executable, "-IS", "-c", _START, str(_SOURCE), __file__, str(pid), path, str(group), str(int(read_only))]
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
