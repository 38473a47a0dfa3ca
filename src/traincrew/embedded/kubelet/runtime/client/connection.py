"""The daemon's end of a conversation with a shim or a template."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Sequence

from traincrew.embedded.kubelet.runtime import protocol

Heard = Callable[[protocol.Message, list[int]], None]


class Connection:
    def __init__(self, sock: socket.socket, heard: Heard, lost: Callable[[], None]) -> None:
        """heard owns the descriptors it is given."""
        sock.setblocking(False)
        self._sock, self._heard, self._lost = sock, heard, lost
        self._loop = asyncio.get_running_loop()
        self._lines = protocol.LineReader()
        self._unsent: list[tuple[memoryview, list[int]]] = []
        self._loop.add_reader(sock.fileno(), self._readable)

    @property
    def open(self) -> bool:
        return self._sock.fileno() >= 0

    def send(self, message: protocol.Message, fds: Sequence[int] = ()) -> None:
        """The descriptors are closed here once they are on their way. ConnectionError: the other side is gone."""
        if not self.open:
            _close(fds)
            raise ConnectionError("the connection is closed")
        self._unsent.append((memoryview(protocol.encode(message, fds)), list(fds)))
        if len(self._unsent) == 1:
            self._flush()

    def close(self) -> None:
        if not self.open:
            return
        self._loop.remove_reader(self._sock.fileno())
        self._loop.remove_writer(self._sock.fileno())
        self._sock.close()
        self._lines.close()
        for _, fds in self._unsent:
            _close(fds)
        self._unsent = []
        self._lost()

    def _readable(self) -> None:
        try:
            data, fds = protocol.receive(self._sock)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, fds = b"", []
        if not data:
            self.close()
            return
        try:
            for message, own in self._lines.feed(data, fds):
                self._heard(message, own)
        except ValueError:
            self.close()

    def _flush(self) -> None:
        try:
            while self._unsent:
                data, fds = self._unsent[0]
                sent = protocol.send_some(self._sock, data, fds)
                _close(fds)
                self._unsent[0] = (data[sent:], [])
                if sent == len(data):
                    del self._unsent[0]
        except (BlockingIOError, InterruptedError):
            self._loop.add_writer(self._sock.fileno(), self._flush)
            return
        except OSError:
            # What the other side said before it went is still to be read; the reader sees the end.
            self._unsent = []
        if self.open:
            self._loop.remove_writer(self._sock.fileno())


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        with contextlib.suppress(OSError):
            os.close(fd)
