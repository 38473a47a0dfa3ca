"""The kubelet's end of a connection to a shim or to the template process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Sequence

from traincrew.embedded.kubelet.runtime import protocol

OnMessage = Callable[[protocol.Message, list[int]], None]


class MessageConnection:
    def __init__(self, sock: socket.socket, on_message: OnMessage, on_lost: Callable[[], None]) -> None:
        """on_message takes ownership of the descriptors."""
        sock.setblocking(False)
        self._sock, self._on_message, self._on_lost = sock, on_message, on_lost
        self._loop = asyncio.get_running_loop()
        self._lines = protocol.LineReader()
        self._unsent: list[tuple[memoryview, list[int]]] = []
        self._loop.add_reader(sock.fileno(), self._on_readable)

    @property
    def open(self) -> bool:
        return self._sock.fileno() >= 0

    def send(self, message: protocol.Message, fds: Sequence[int] = ()) -> None:
        """Closes the descriptors once they are sent. ConnectionError: the connection is closed."""
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
        self._on_lost()

    def _on_readable(self) -> None:
        """Reads until nothing is left: uvloop reports a connection that the peer has reset once and then stops watching it."""
        while self.open:
            try:
                data, fds = protocol.receive(self._sock)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                data, fds = b"", []
            if data:
                self._deliver(data, fds)
            else:
                self.close()

    def _deliver(self, data: bytes, fds: list[int]) -> None:
        try:
            for message, own in self._lines.feed(data, fds):
                self._on_message(message, own)
        except ValueError:
            self.close()

    def _flush(self) -> None:
        try:
            protocol.send_queued(self._sock, self._unsent)
        except (BlockingIOError, InterruptedError):
            self._loop.add_writer(self._sock.fileno(), self._flush)
            return
        except OSError:
            # Messages that the peer sent before it closed are still to be read.
            self._unsent = []
        if self.open:
            self._loop.remove_writer(self._sock.fileno())


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        with contextlib.suppress(OSError):
            os.close(fd)
