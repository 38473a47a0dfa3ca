"""A client of the shim: it may say anything, read nothing and go at any moment without holding up the pod."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.shim.event_loop import READ, WRITE, EventLoop

_MOST_UNREAD = 4 << 20

Heard = Callable[["Peer", protocol.Message, list[int]], None]


class Peer:
    def __init__(self, loop: EventLoop, sock: socket.socket, heard: Heard) -> None:
        self._loop, self._sock, self._heard = loop, sock, heard
        self._lines = protocol.LineReader()
        self._unsent: list[tuple[memoryview, list[int]]] = []
        self.on_close: list[Callable[[], None]] = []
        sock.setblocking(False)
        loop.watch(sock.fileno(), READ, self._step)

    @property
    def open(self) -> bool:
        return self._sock.fileno() >= 0

    def send(self, message: protocol.Message, fds: Sequence[int] = ()) -> None:
        """The descriptors remain the caller's."""
        if not self.open:
            return
        self._unsent.append((memoryview(protocol.encode(message, fds)), [os.dup(fd) for fd in fds]))
        self._flush()
        if sum(len(data) for data, _ in self._unsent) > _MOST_UNREAD:
            self.close()

    def close(self) -> None:
        if not self.open:
            return
        self._loop.forget(self._sock.fileno())
        self._sock.close()
        self._lines.close()
        for _, fds in self._unsent:
            _close(fds)
        self._unsent = []
        for each in self.on_close:
            each()

    def _step(self) -> None:
        self._flush()
        if not self.open:
            return
        try:
            data, fds = protocol.receive(self._sock)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        if not data:
            self.close()
            return
        try:
            messages = self._lines.feed(data, fds)
        except ValueError as error:
            self.send({"error": f"this cannot be understood: {error}"})
            self.close()
            return
        for message, own in messages:
            self._heard(self, message, own)

    def _flush(self) -> None:
        try:
            while self._unsent:
                data, fds = self._unsent[0]
                sent = protocol.send_some(self._sock, data, fds)
                _close(fds)
                self._unsent[0] = (data[sent:], [])
                if sent == len(data):
                    del self._unsent[0]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        self._loop.watch(self._sock.fileno(), READ | (WRITE if self._unsent else 0), self._step)


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


class Listener:
    """A socket in the file system at which peers arrive."""

    def __init__(self, loop: EventLoop, name: str, mode: int, heard: Heard) -> None:
        """name: in the present directory, so that a long path does not matter."""
        self._loop, self._heard = loop, heard
        self.on_arrival: Callable[[Peer], None] | None = None
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.bind(name)
        os.chmod(name, mode)
        self._sock.listen(128)
        self._sock.setblocking(False)
        loop.watch(self._sock.fileno(), READ, self._step)

    def _step(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except OSError:
            return
        peer = Peer(self._loop, sock, self._heard)
        if self.on_arrival is not None:
            self.on_arrival(peer)


class Reply:
    def __init__(self, peer: Peer, request: protocol.Message) -> None:
        self.peer, self._id = peer, request.get("id")

    def give(self, fds: tuple[int, ...] = (), **values: Any) -> None:
        self.peer.send({"id": self._id, **values}, fds)

    def refuse(self, reason: str, message: str) -> None:
        self.peer.send({"id": self._id, "error": message, "reason": reason})
