"""The start handshake: what a process reports to its shim before its execve. The execve closes the socket."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.shim.event_loop import READ, EventLoop


class StartHandshake:
    def __init__(self, loop: EventLoop, sock: socket.socket, done: Callable[[], None]) -> None:
        self._loop, self._sock, self._done = loop, sock, done
        self.pid = 0
        """Of the command, in the shim's PID namespace."""
        self.started = ""
        self.failure: tuple[str, str] | None = None
        self.namespaces: list[int] = []
        """Open descriptors: the mount namespace and the PID namespace."""
        self.terminal = -1
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        loop.watch(sock.fileno(), READ, self.read)

    def read(self) -> None:
        """Handles every message that has arrived."""
        while self._sock.fileno() >= 0:
            try:
                data, fds, pid = _receive(self._sock)
            except OSError:
                return
            if data:
                self._handle(data, fds, pid)
            else:
                self._finish()

    def _handle(self, data: bytes, fds: list[int], pid: int) -> None:
        message = json.loads(data)
        if "namespaces" in message:
            self.namespaces = fds
        elif "terminal" in message:
            self.terminal = fds[0]
        elif "exec" in message:
            self.pid, self.started = pid, timestamp()
        elif "failed" in message:
            self.failure, self.started = (message["failed"], message["message"]), ""

    def _finish(self) -> None:
        self._loop.unwatch(self._sock.fileno())
        self._sock.close()
        if self.failure is None and not self.started:
            self.failure = ("RunContainerError", "the process ended before it could start the command")
        self._done()

    def close(self) -> None:
        """Closes the descriptors that were handed over."""
        for fd in (*self.namespaces, self.terminal):
            if fd >= 0:
                os.close(fd)
        self.namespaces, self.terminal = [], -1


def socket_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def timestamp() -> str:
    second, rest = divmod(time.time_ns() // 1000, 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)) + f".{rest:06}Z"


def _receive(sock: socket.socket) -> tuple[bytes, list[int], int]:
    """Data, descriptors and the sender's process id, which the kernel translates into this PID namespace."""
    room = socket.CMSG_SPACE(12) + socket.CMSG_SPACE(4 * 4)
    data, ancillary, _, _ = sock.recvmsg(protocol.CHUNK_BYTES, room, socket.MSG_CMSG_CLOEXEC)
    fds, pid = list[int](), 0
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            pid = int.from_bytes(payload[:4], sys.byteorder)
        elif level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += memoryview(payload).cast("i").tolist()
    return data, fds, pid
