"""The control socket of the netns daemon: JSON lines; a reply may carry a socket (docs/network.md)."""

from __future__ import annotations

import contextlib
import os
import socket
import traceback
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime.event_loop import EventLoop
from traincrew.embedded.kubelet.runtime.protocol import Message
from traincrew.embedded.kubelet.runtime.shim.listener import Listener, ListenerLimits
from traincrew.embedded.kubelet.runtime.shim.peer import Peer

ControlReply = tuple[Message, list[socket.socket]]
Handler = Callable[[Message], ControlReply]
LIMITS = ListenerLimits(connections=64, line_bytes=64 << 10, total_bytes=1 << 20)
"""Requests are short: the zone is in a file."""


class ControlSocket:
    def __init__(self, loop: EventLoop, path: str, handler: Handler) -> None:
        self._handler = handler
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        Listener(loop, path, 0o600, self._on_message, LIMITS)

    def _on_message(self, peer: Peer, message: Message, fds: list[int]) -> None:
        for fd in fds:
            os.close(fd)
        passed: list[socket.socket] = []
        try:
            reply, passed = self._handler(message)
        except OSError as error:
            reply = {"error": error.strerror or str(error), "errno": error.errno or 0}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            reply = {"error": f"malformed request: {error!r}", "errno": 0}
        except Exception as error:
            # Without a reply the client would wait for ever.
            traceback.print_exc()
            reply = {"error": f"malformed request: {error!r}", "errno": 0}
        try:
            peer.send({"id": message.get("id"), **reply}, [each.fileno() for each in passed])
        finally:
            for each in passed:
                each.close()
