"""The start handshake: what a process reports to its shim before its execve. The execve closes the socket."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterable

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.client_descriptors import ClientDescriptors
from traincrew.embedded.kubelet.runtime.event_loop import READ, EventLoop


class StartHandshake:
    def __init__(
        self,
        loop: EventLoop,
        sock: socket.socket,
        done: Callable[[], None],
        starter: int = 0,
        on_forked: Callable[[int], None] = lambda _: None,
    ) -> None:
        """starter: a process that forks the process (see `nsexec`), which on_forked gets; 0: the shim has forked it."""
        self._loop, self._sock, self._done = loop, sock, done
        self._starter, self._on_forked = starter, on_forked
        self.starter = starter
        """0 after it has ended."""
        self.forked = False
        self.pid = 0
        """Of the command, in the shim's PID namespace."""
        self.started = ""
        self.failure: tuple[str, str] | None = None
        self.namespaces: list[int] = []
        """Open descriptors: the mount namespace and the PID namespace."""
        self.terminal = -1
        sock.setblocking(False)
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
        message = _decode(data)
        if self._starter in (0, pid):
            self._handle_trusted(message, fds)
        else:
            ClientDescriptors(self._loop).close(fds)
        if "exec" in message:
            self.pid, self.started = pid, timestamp()
        elif "failed" in message:
            self.failure, self.started = (str(message["failed"]), str(message.get("message", ""))), ""

    def _handle_trusted(self, message: protocol.Message, fds: list[int]) -> None:
        """A process in a PID namespace with others may be traced: it must not name processes and descriptors to the shim."""
        if "namespaces" in message:
            self.namespaces = fds
        elif "terminal" in message:
            self.terminal = fds[0]
        elif "forked" in message:
            self.forked = True
            self._on_forked(message["forked"])

    def _finish(self) -> None:
        self._loop.unwatch(self._sock.fileno())
        self._sock.close()
        if self.failure is None and not self.started:
            self.failure = ("RunContainerError", "the process ended before it could start the command")
        self._done()

    def process_ended(self) -> None:
        """Another process of the pod may have taken the socket, which stays open then."""
        self.read()
        if self._sock.fileno() >= 0:
            self._finish()

    def close(self) -> None:
        """Closes the descriptors that were handed over."""
        _close(fd for fd in (*self.namespaces, self.terminal) if fd >= 0)
        self.namespaces, self.terminal = [], -1


def _decode(data: bytes) -> protocol.Message:
    try:
        message = json.loads(data)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _close(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)


def handshake_pair() -> tuple[socket.socket, socket.socket]:
    """The sockets of the shim and of the process. The shim's receives the sender's process id with each message."""
    ours, theirs = socket_pair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


def socket_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def timestamp() -> str:
    """RFC 3339 without `datetime`: every shim would keep that module in memory."""
    second, rest = divmod(time.time_ns() // 1000, 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)) + f".{rest:06}Z"


def _receive(sock: socket.socket) -> tuple[bytes, list[int], int]:
    """Data, descriptors and the sender's process id, which the kernel translates into this PID namespace."""
    room = socket.CMSG_SPACE(12) + socket.CMSG_SPACE(4 * protocol.SCM_MAX_FD)
    data, ancillary, _, _ = sock.recvmsg(protocol.CHUNK_BYTES, room, socket.MSG_CMSG_CLOEXEC)
    fds, pid = list[int](), 0
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            pid = int.from_bytes(payload[:4], sys.byteorder)
        elif level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += memoryview(payload).cast("i").tolist()
    return data, fds, pid
