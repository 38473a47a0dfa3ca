"""A client of the shim. Whatever it sends, and whether it reads or not, it never blocks the pod."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.shim.event_loop import READ, WRITE, EventLoop

_MAX_UNREAD_BYTES = 4 << 20

OnMessage = Callable[["Peer", protocol.Message, list[int]], None]


class Peer:
    def __init__(self, loop: EventLoop, sock: socket.socket, on_message: OnMessage) -> None:
        self._loop, self._sock, self._on_message = loop, sock, on_message
        self._lines = protocol.LineReader()
        self._unsent: list[tuple[memoryview, list[int]]] = []
        self.on_close: list[Callable[[], None]] = []
        sock.setblocking(False)
        loop.watch(sock.fileno(), READ, self._on_ready)

    @property
    def open(self) -> bool:
        return self._sock.fileno() >= 0

    def send(self, message: protocol.Message, fds: Sequence[int] = ()) -> None:
        """The caller keeps and closes the descriptors."""
        if not self.open:
            return
        self._unsent.append((memoryview(protocol.encode(message, fds)), [os.dup(fd) for fd in fds]))
        self._flush()
        if sum(len(data) for data, _ in self._unsent) > _MAX_UNREAD_BYTES:
            self.close()

    def close(self) -> None:
        if not self.open:
            return
        self._loop.unwatch(self._sock.fileno())
        self._sock.close()
        self._lines.close()
        for _, fds in self._unsent:
            _close(fds)
        self._unsent = []
        for each in self.on_close:
            each()

    def _on_ready(self) -> None:
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
            self.send({"error": f"malformed message: {error}"})
            self.close()
            return
        for message, own in messages:
            self._on_message(self, message, own)

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
        self._loop.watch(self._sock.fileno(), READ | (WRITE if self._unsent else 0), self._on_ready)


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


class Listener:
    """A listening Unix socket."""

    def __init__(self, loop: EventLoop, name: str, mode: int, on_message: OnMessage) -> None:
        """name: in the working directory, because a socket address holds 107 bytes only."""
        self._loop, self._on_message = loop, on_message
        self.on_connect: Callable[[Peer], None] | None = None
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.bind(name)
        os.chmod(name, mode)
        self._sock.listen(128)
        self._sock.setblocking(False)
        loop.watch(self._sock.fileno(), READ, self._on_ready)

    def _on_ready(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except OSError:
            return
        peer = Peer(self._loop, sock, self._on_message)
        if self.on_connect is not None:
            self.on_connect(peer)


class Reply:
    """The response to one request."""

    def __init__(self, peer: Peer, request: protocol.Message) -> None:
        self.peer, self._id = peer, request.get("id")

    def send(self, fds: tuple[int, ...] = (), **values: Any) -> None:
        self.peer.send({"id": self._id, **values}, fds)

    def fail(self, reason: str, message: str) -> None:
        self.peer.send({"id": self._id, "error": message, "reason": reason})
