"""From a container's output to its log, line by line, and to whoever is attached."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime.shim.event_loop import READ, EventLoop
from traincrew.embedded.kubelet.runtime.shim.log_file import LogFile

LONGEST_LINE = 16 << 10
_PIECE = 1 << 14
"""Bytes a reading: with lines of one byte, each piece is many times as large in memory."""
_FULL, _PARTIAL = b"F", b"P"


class LineSplitter:
    """Bytes to records. A line without end is kept back until it has one, is too long, or nothing more comes."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        *whole, self._begun = (self._begun + data).split(b"\n")
        if max(map(len, whole), default=0) <= LONGEST_LINE >= len(self._begun):
            return [(_FULL, text) for text in whole]
        records = list[tuple[bytes, bytes]]()
        for text in whole:
            if len(text) > LONGEST_LINE:
                text = self._shortened(text, records)
            records.append((_FULL, text))
        if len(self._begun) > LONGEST_LINE:
            self._begun = self._shortened(self._begun, records)
        return records

    def rest(self) -> list[tuple[bytes, bytes]]:
        last, self._begun = self._begun, b""
        return [(_PARTIAL, last)] if last else []

    @staticmethod
    def _shortened(text: bytes, records: list[tuple[bytes, bytes]]) -> bytes:
        start = 0
        while len(text) - start > LONGEST_LINE:
            records.append((_PARTIAL, text[start : start + LONGEST_LINE]))
            start += LONGEST_LINE
        return text[start:]


class OutputPump:
    """One stream. It ends when everybody who could write to it is gone, or when it is told that nothing more counts."""

    def __init__(self, loop: EventLoop, fd: int, stream: str, log: LogFile) -> None:
        self._loop, self._fd, self._stream, self._log = loop, fd, stream.encode(), log
        self._cutter = LineSplitter()
        self.listeners: list[Callable[[bytes], None]] = []
        """Called with what was read; with b"" at the end."""
        os.set_blocking(fd, False)
        loop.watch(fd, READ, self._some)

    @property
    def open(self) -> bool:
        return self._fd >= 0

    def _some(self) -> None:
        """Not all that there is: the other streams have their turn."""
        for _ in range(8):
            if not self.step():
                return

    def step(self) -> bool:
        """Whether something was read."""
        if self._fd < 0:
            return False
        try:
            data = os.read(self._fd, _PIECE)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != errno.EIO:  # a terminal that nobody has open any more
                raise
            data = b""
        if not data:
            self.close()
            return False
        self._write(self._cutter.feed(data))
        for listener in list(self.listeners):
            listener(data)
        return True

    def drain(self) -> None:
        """What is in the pipe now, and no more: somebody outside of the container may hold it open for ever."""
        while self.step():
            pass
        self.close()

    def close(self) -> None:
        if self._fd < 0:
            return
        self._loop.forget(self._fd)
        os.close(self._fd)
        self._fd = -1
        self._write(self._cutter.rest())
        for listener in list(self.listeners):
            listener(b"")

    def _write(self, records: list[tuple[bytes, bytes]]) -> None:
        if not records:
            return
        self._log.write(self._stream, records)
        if self._log.lost:
            self._loop.later(1.0, self._retry)

    def _retry(self) -> None:
        if self.open and self._log.lost and not self._log.tell_lost():
            self._loop.later(1.0, self._retry)
