"""A client of the shim. Whatever it sends, and whether it reads or not, it never blocks the pod."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.client_descriptors import ClientDescriptors
from traincrew.embedded.kubelet.runtime.event_loop import READ, WRITE, EventLoop

_MAX_UNREAD_BYTES = 4 << 20

OnMessage = Callable[["Peer", protocol.Message, list[int]], None]


class Peer:
    def __init__(
        self, loop: EventLoop, sock: socket.socket, on_message: OnMessage, descriptors: ClientDescriptors,
        lines: protocol.LineReader | None = None,
    ) -> None:  # fmt: skip
        self._loop, self._sock, self._on_message, self.descriptors = loop, sock, on_message, descriptors
        self._lines = lines or protocol.LineReader(close_fds=descriptors.close)
        self._unsent: list[tuple[memoryview, list[int]]] = []
        self._begun = 0.0
        self.waiting_since: float | None = time.monotonic()
        """When the client connected, or its last request ended. None: a request is being served."""
        self.on_close: list[Callable[[], None]] = []
        self.on_incomplete: Callable[[], None] = lambda: None
        """Called when a part of a message has arrived."""
        sock.setblocking(False)
        loop.watch(sock.fileno(), READ, self._on_ready)

    @property
    def open(self) -> bool:
        return self._sock.fileno() >= 0

    @property
    def incomplete_since(self) -> float | None:
        """When the message began of which a part is missing."""
        return self._begun if self._lines.incomplete else None

    @property
    def incomplete_bytes(self) -> int:
        return self._lines.size

    def send(self, message: protocol.Message, fds: Sequence[int] = ()) -> None:
        """The caller keeps and closes the descriptors."""
        if not self.open:
            return
        self._unsent.append((memoryview(protocol.encode(message, fds)), [os.dup(fd) for fd in fds]))
        self._flush()
        if sum(len(data) for data, _ in self._unsent) > _MAX_UNREAD_BYTES:
            self.close()

    def send_last(self, message: protocol.Message) -> None:
        """The request has ended. The client disconnects, or sends another one."""
        self.waiting_since = time.monotonic()
        self.send(message)

    def close(self) -> None:
        if not self.open:
            return
        self._loop.unwatch(self._sock.fileno())
        self.descriptors.close_connection(self._sock)
        self._lines.close()
        for _, fds in self._unsent:
            _close(fds)
        self._unsent = []
        for each in list(self.on_close):
            each()

    def _on_ready(self) -> None:
        try:
            self._flush()
            if self.open:
                self._receive()
        except Exception:
            self.close()  # else the descriptor of an unexpected message would stay open
            raise

    def _receive(self) -> None:
        try:
            data, fds = protocol.receive(self._sock)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        if not data:
            self.close()
            return
        if not self._lines.incomplete:
            self._begun = time.monotonic()
        try:
            for message, own in self._lines.feed(data, fds):
                self._begun, self.waiting_since = time.monotonic(), None
                self._on_message(self, message, own)
        except ValueError as error:
            self.send({"error": f"malformed message: {error}"})
            self.close()
        if self._lines.incomplete:
            self.on_incomplete()

    def _flush(self) -> None:
        try:
            protocol.send_queued(self._sock, self._unsent)
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        self._loop.watch(self._sock.fileno(), READ | (WRITE if self._unsent else 0), self._on_ready)


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


class Reply:
    """The response to one request."""

    def __init__(self, peer: Peer, request: protocol.Message) -> None:
        self.peer, self._id = peer, request.get("id")

    def send(self, fds: tuple[int, ...] = (), **values: Any) -> None:
        self.peer.send({"id": self._id, **values}, fds)

    def fail(self, reason: str, message: str) -> None:
        self.peer.send({"id": self._id, "error": message, "reason": reason})
