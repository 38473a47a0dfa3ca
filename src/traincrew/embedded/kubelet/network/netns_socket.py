"""The control socket of the netns daemon: JSON lines; a reply may carry a socket (docs/network.md)."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.protocol import Message
from traincrew.embedded.kubelet.runtime.shim.event_loop import READ, EventLoop

ControlReply = tuple[Message, list[socket.socket]]
Handler = Callable[[Message], ControlReply]


class ControlSocket:
    def __init__(self, loop: EventLoop, path: str, handler: Handler) -> None:
        self._loop, self._handler = loop, handler
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        os.chmod(path, 0o600)
        self._listener.listen(64)
        self._listener.setblocking(False)
        loop.watch(self._listener.fileno(), READ, self._accept)

    def _accept(self) -> None:
        try:
            peer, _ = self._listener.accept()
        except OSError:
            return
        peer.setblocking(False)
        lines = protocol.LineReader()
        self._loop.watch(peer.fileno(), READ, lambda: self._read(peer, lines))

    def _read(self, peer: socket.socket, lines: protocol.LineReader) -> None:
        try:
            data, fds = protocol.receive(peer)
            for fd in fds:
                os.close(fd)
            if not data:
                raise ConnectionError("the client has disconnected")
            for message, _ in lines.feed(data):
                self._reply(peer, message)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self._loop.unwatch(peer.fileno())
            peer.close()

    def _reply(self, peer: socket.socket, message: Message) -> None:
        """A client that does not read its reply is disconnected: replies are short, and other clients must not wait."""
        number = message.get("id")
        passed: list[socket.socket] = []
        try:
            reply, passed = self._handler(message)
        except OSError as error:
            reply = {"refused": error.strerror or str(error), "errno": error.errno or 0}
        except (KeyError, TypeError, ValueError) as error:
            reply = {"refused": f"malformed request: {error!r}", "errno": 0}
        fds = [each.fileno() for each in passed]
        data = protocol.encode({"id": number, **reply}, fds)
        try:
            if protocol.send_some(peer, data, fds) != len(data):
                raise ConnectionError("the client does not read")
        finally:
            for each in passed:
                each.close()
