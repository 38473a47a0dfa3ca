"""A read position in the log of one container attempt, which may be rotated and deleted while it is read."""

from __future__ import annotations

import contextlib
import os
import pathlib
from typing import BinaryIO, NamedTuple

from traincrew.embedded.kubelet.logs import cri_format

CHUNK_BYTES = 1 << 16
TIMESTAMP_BYTES = 30
"""Length of a timestamp with nine digits."""


class _File(NamedTuple):
    first: bytes
    """The timestamp of its first line, which gives the order of the files. An empty file is the newest."""
    inode: int
    path: pathlib.Path


def files(directory: pathlib.Path, attempt: int) -> list[pathlib.Path]:
    """The files of one attempt, oldest first."""
    return [each.path for each in _files(directory, attempt)]


def _files(directory: pathlib.Path, attempt: int) -> list[_File]:
    """Lists until two results agree: during a rotation a file may have two names, or none."""
    before: list[_File] | None = None
    while (now := _look(directory, attempt)) != before:
        before = now
    return now


def _look(directory: pathlib.Path, attempt: int) -> list[_File]:
    name, found = f"{attempt}.log", dict[int, _File]()
    with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name == name or (entry.name.startswith(f"{name}.") and entry.name[len(name) + 1 :].isdecimal()):
                with contextlib.suppress(FileNotFoundError):
                    one = _described(pathlib.Path(entry.path))
                    found[one.inode] = one
    return sorted(found.values(), key=lambda file: file.first or b"~")


def _described(path: pathlib.Path) -> _File:
    with path.open("rb") as file:
        return _File(file.read(TIMESTAMP_BYTES), os.fstat(file.fileno()).st_ino, path)


class LogCursor:
    """Returns each complete line once, across rotations. Blocks on disk I/O."""

    def __init__(self, directory: pathlib.Path, attempt: int) -> None:
        self._directory, self._attempt = directory, attempt
        self._file: BinaryIO | None = None
        self._begun = b""
        self._last = b""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def to_tail(self, count: int) -> None:
        """Moves to the first of the last `count` lines. The parts of a line count as one."""
        ends = count + 1
        for file in reversed(_files(self._directory, self._attempt)):
            with contextlib.suppress(FileNotFoundError):
                self._open(file.path)
                position, ends = _tail(self._opened, ends)
                self._opened.seek(position)
            if not ends:
                return

    def lines(self) -> list[bytes]:
        """The next lines, about 64 KiB; empty at the current end."""
        while True:
            if self._file is None and not self._next():
                return []
            if found := self._read():
                return found
            if not self._next():
                return []

    @property
    def _opened(self) -> BinaryIO:
        assert self._file is not None
        return self._file

    def _read(self) -> list[bytes]:
        while piece := self._opened.read(CHUNK_BYTES):
            complete, newline, rest = piece.rpartition(b"\n")
            if not newline:
                self._begun += rest
                continue
            lines = (self._begun + complete).split(b"\n")
            self._begun, self._last = rest, lines[-1][:TIMESTAMP_BYTES]
            return lines
        return []

    def _next(self) -> bool:
        """Moves to the next file if there is one. Returns whether there is more to read."""
        current = _files(self._directory, self._attempt)
        following = self._after(current)
        if following is None:
            return False
        if self._file is not None and os.fstat(self._file.fileno()).st_size > self._file.tell():
            return True  # written between the last read and the rotation
        try:
            self._open(following.path)
        except FileNotFoundError:
            return self._next()
        if os.fstat(self._opened.fileno()).st_ino != following.inode:
            self.close()
            return self._next()
        return True

    def _after(self, current: list[_File]) -> _File | None:
        if self._file is None:
            return next((file for file in current if not self._last or file.first > self._last or not file.first), None)
        own = os.fstat(self._file.fileno()).st_ino
        for index, file in enumerate(current):
            if file.inode == own:
                return current[index + 1] if index + 1 < len(current) else None
        # The current file was deleted: continue with the first file that starts later.
        return next((file for file in current if file.first > self._last), None)

    def _open(self, path: pathlib.Path) -> None:
        fresh = path.open("rb")
        self.close()
        self._file, self._begun = fresh, b""


def _tail(file: BinaryIO, ends: int) -> tuple[int, int]:
    """Seeks backward over so many line ends. Returns the position, and the number of line ends that the file lacked."""
    position, carry = file.seek(0, os.SEEK_END), b""
    while position:
        step = min(CHUNK_BYTES, position)
        position -= step
        file.seek(position)
        block = file.read(step) + carry
        # The last piece is an unfinished line. The first piece may continue in the block before.
        pieces = block.split(b"\n")
        end = position + len(block) - len(pieces[-1])
        for piece in reversed(pieces[1:-1] if position else pieces[:-1]):
            ends -= _ends_a_line(piece)
            if not ends:
                return end, 0
            end -= len(piece) + 1
        carry = pieces[0] + b"\n" if len(pieces) > 1 else pieces[0]
    return 0, ends


def _ends_a_line(raw: bytes) -> bool:
    line = cri_format.parse(raw)
    return line is not None and line.whole
