"""The CRI log file of one container run, rotated by size. A full disk loses lines, which the log notes, and blocks nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import time


class TimestampClock:
    """Timestamps in nanoseconds that only increase, even when the clock is set back: readers rely on the order."""

    def __init__(self) -> None:
        self._last = 0
        self._second, self._text = -1, b""

    def stamp(self) -> bytes:
        """RFC 3339 with nanoseconds, which `datetime` does not have; written for every line."""
        self._last = max(time.time_ns(), self._last + 1)
        second, rest = divmod(self._last, 1_000_000_000)
        if second != self._second:
            self._second, self._text = second, time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second)).encode()
        return b"%b%09dZ" % (self._text, rest)


class LogFile:
    def __init__(self, directory: str, attempt: int, max_bytes: int, max_files: int) -> None:
        self._directory, self._path = directory, os.path.join(directory, f"{attempt}.log")
        self._max_bytes, self._max_files = max_bytes, max(1, max_files)
        self._clock = TimestampClock()
        self._fd = -1
        self._size = 0
        self.lost = 0
        """Lines that could not be written and are not noted yet."""
        self._errno = 0
        with contextlib.suppress(OSError):
            self._open()

    def write(self, stream: bytes, texts: list[tuple[bytes, bytes]]) -> None:
        """Writes records (tag F or P, text). On a full disk the records before the first failure are kept."""
        if self.lost and not self.note_lost():
            self.lost += len(texts)
            return
        stamp = self._clock.stamp()
        heads = {tag: b"%b %b %b " % (stamp, stream, tag) for tag in (b"F", b"P")}
        self._append(b"\n".join([heads[tag] + text for tag, text in texts]) + b"\n")

    def note_lost(self) -> bool:
        """Notes the lost lines in the log. Returns whether there was space."""
        count, self.lost = self.lost, 0
        note = f"traincrew: {count} lines of output were lost here: {os.strerror(self._errno).lower()}"
        if self._append(b"%b stderr F %b\n" % (self._clock.stamp(), note.encode())):
            return True
        self.lost = count
        return False

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, data: bytes) -> bool:
        try:
            self._prepare(len(data))
            written = os.write(self._fd, data)
        except OSError as error:
            self._errno, written = error.errno or errno.EIO, 0
        else:
            self._errno = self._errno if written == len(data) else errno.ENOSPC
        whole = written if written == len(data) else data.rfind(b"\n", 0, written) + 1
        self._size += whole
        if whole != len(data):
            self.lost += data.count(b"\n", whole)
            self._cut()
        return whole == len(data)

    def _cut(self) -> None:
        """Removes a partly written line, which would make the next one unreadable."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)

    def _open(self) -> None:
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._fd).st_size

    def _prepare(self, count: int) -> None:
        if self._fd < 0:
            self._open()
        if self._max_bytes and self._size and self._size + count > self._max_bytes:
            self._rotate()

    def _rotate(self) -> None:
        for number in range(self._max_files - 1, 0, -1):
            older = self._path if number == 1 else f"{self._path}.{number - 1}"
            with contextlib.suppress(FileNotFoundError):
                os.rename(older, f"{self._path}.{number}")
        if self._max_files == 1:
            os.unlink(self._path)
        self.close()
        self._open()
