"""Copies a container's output to its log, line by line, and to attached clients."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime.container.log_file import LogFile
from traincrew.embedded.kubelet.runtime.event_loop import READ, EventLoop

MAX_LINE_BYTES = 16 << 10
_CHUNK_BYTES = 1 << 14
"""Kept small: lines of one byte take many times their size in memory."""
_FULL, _PARTIAL = b"F", b"P"


class LogRecordSplitter:
    """Splits bytes into log records. An unfinished line is held until it ends, grows too long, or the stream ends."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        *whole, self._begun = (self._begun + data).split(b"\n")
        if max(map(len, whole), default=0) <= MAX_LINE_BYTES >= len(self._begun):
            return [(_FULL, text) for text in whole]
        records = list[tuple[bytes, bytes]]()
        for text in whole:
            if len(text) > MAX_LINE_BYTES:
                text = self._split_long(text, records)
            records.append((_FULL, text))
        if len(self._begun) > MAX_LINE_BYTES:
            self._begun = self._split_long(self._begun, records)
        return records

    def rest(self) -> list[tuple[bytes, bytes]]:
        last, self._begun = self._begun, b""
        return [(_PARTIAL, last)] if last else []

    @staticmethod
    def _split_long(text: bytes, records: list[tuple[bytes, bytes]]) -> bytes:
        start = 0
        while len(text) - start > MAX_LINE_BYTES:
            records.append((_PARTIAL, text[start : start + MAX_LINE_BYTES]))
            start += MAX_LINE_BYTES
        return text[start:]


class OutputPump:
    """Pumps one stream until every writer has closed it, or until `drain`."""

    def __init__(self, loop: EventLoop, fd: int, stream: str, log: LogFile) -> None:
        self._loop, self._fd, self._stream, self._log = loop, fd, stream.encode(), log
        self._splitter = LogRecordSplitter()
        self.listeners: list[Callable[[bytes], None]] = []
        """Called with each chunk, and with b"" at the end."""
        os.set_blocking(fd, False)
        loop.watch(fd, READ, self._read_some)

    @property
    def open(self) -> bool:
        return self._fd >= 0

    def _read_some(self) -> None:
        """Reads a few chunks only, so that other streams get their turn."""
        for _ in range(8):
            if not self.step():
                return

    def step(self) -> bool:
        """Reads one chunk. Returns whether there was one."""
        if self._fd < 0:
            return False
        try:
            data = os.read(self._fd, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != errno.EIO:  # a terminal whose other end is closed
                raise
            data = b""
        if not data:
            self.close()
            return False
        self._write(self._splitter.feed(data))
        for listener in list(self.listeners):
            listener(data)
        return True

    def drain(self) -> None:
        """Reads what is in the pipe and closes it: a process outside the container may keep it open for ever."""
        while self.step():
            pass
        self.close()

    def close(self) -> None:
        if self._fd < 0:
            return
        self._loop.unwatch(self._fd)
        os.close(self._fd)
        self._fd = -1
        self._write(self._splitter.rest())
        for listener in list(self.listeners):
            listener(b"")

    def _write(self, records: list[tuple[bytes, bytes]]) -> None:
        if not records:
            return
        self._log.write(self._stream, records)
        if self._log.lost:
            self._loop.call_later(1.0, self._retry)

    def _retry(self) -> None:
        if self.open and self._log.lost and not self._log.note_lost():
            self._loop.call_later(1.0, self._retry)
