"""Closes descriptors of clients without waiting.

close() of a TCP socket with SO_LINGER waits until its data is received, which a hostile client prevents. So does the close of a
Unix socket with an unread message that has such a socket. Linux does not wait when a process exits: a child process gets the
descriptors and exits after they are closed here.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Sequence

from traincrew.embedded.kubelet.runtime import fork
from traincrew.embedded.kubelet.runtime.event_loop import EventLoop

_PAUSE_SECONDS = 0.05
"""A flood of descriptors must not cause a flood of processes."""
_BATCH = 256


class ClientDescriptors:
    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._sockets: list[int] = []

    def close(self, fds: Sequence[int]) -> None:
        for fd in fds:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                self._add(fd)
            else:
                os.close(fd)

    def close_connection(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client is gone
            sock.shutdown(socket.SHUT_RDWR)
        if _has_unread_data(sock):
            self._add(sock.detach())
        else:
            sock.close()

    def _add(self, fd: int) -> None:
        self._sockets.append(fd)
        if len(self._sockets) < _BATCH:
            self._loop.call_later(_PAUSE_SECONDS, self._flush)
        else:
            self._flush()

    def _flush(self) -> None:
        self._loop.call_until_done(self._close_sockets)

    def _close_sockets(self) -> None:
        """OSError: no process can be started. The event loop tries again."""
        if not self._sockets:
            return
        reading, writing = os.pipe2(os.O_CLOEXEC)
        try:
            child = fork.fork_child(lambda: _wait_for_end(reading, writing))
            for fd in self._sockets:
                os.close(fd)
            self._sockets = []
        finally:
            os.close(reading)
            os.close(writing)
        os.waitpid(child, 0)


def _wait_for_end(reading: int, writing: int) -> None:
    os.close(writing)
    os.read(reading, 1)


def _has_unread_data(sock: socket.socket) -> bool:
    try:
        return bool(sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except OSError:
        return False
