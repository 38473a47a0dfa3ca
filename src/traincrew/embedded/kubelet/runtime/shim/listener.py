"""A listening Unix socket with limits: no client exhausts the descriptors, the memory or the patience of this process."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.client_descriptors import ClientDescriptors
from traincrew.embedded.kubelet.runtime.event_loop import READ, EventLoop
from traincrew.embedded.kubelet.runtime.shim.peer import OnMessage, Peer

_BACKLOG = 128
_CHECK_SECONDS = 1.0
_PAUSE_SECONDS = 0.2
"""Without a free descriptor no connection is accepted for this time, instead of a busy loop."""
_PEER_CREDENTIALS = struct.Struct("3i")
_UID_LENGTH = 36


class ListenerLimits(NamedTuple):
    connections: int = 256
    """Further ones are closed."""
    line_bytes: int = protocol.MAX_LINE_BYTES
    total_bytes: int = 3 * protocol.MAX_LINE_BYTES
    """Of the incomplete lines of all connections."""
    seconds: float = 10.0
    """A message that has begun must be complete after this time."""
    waiting: int = 0
    """Connections without a request. They have the same time for the next one. 0: any number, for any time."""
    waiting_of_client: int = 0
    """Of these, connections of one pod."""
    descriptors: int = protocol.MAX_FDS
    """That a message may carry."""


class Listener:
    def __init__(self, loop: EventLoop, name: str, mode: int, on_message: OnMessage, limits: ListenerLimits) -> None:
        """name: in the working directory, because a socket address holds 107 bytes only."""
        self._loop, self._on_message, self._limits = loop, on_message, limits
        self.on_connect: Callable[[Peer], None] | None = None
        self._descriptors = ClientDescriptors(loop)
        self._peers: dict[Peer, str] = {}
        """The open connections, the oldest first, with their clients."""
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.bind(name)
        os.chmod(name, mode)
        self._sock.listen(_BACKLOG)
        self._sock.setblocking(False)
        self._resume()

    def _resume(self) -> None:
        self._loop.watch(self._sock.fileno(), READ, self._on_ready)

    def _on_ready(self) -> None:
        """Accepts one connection only, so that other handlers get their turn."""
        try:
            sock, _ = self._sock.accept()
        except BlockingIOError:
            return
        except OSError:
            self._loop.unwatch(self._sock.fileno())
            self._loop.call_later(_PAUSE_SECONDS, self._resume)
            return
        if len(self._peers) < self._limits.connections:
            self._add(sock)
        else:
            self._descriptors.close_connection(sock)

    def _add(self, sock: socket.socket) -> None:
        client = client_of(sock) if self._limits.waiting else ""
        lines = protocol.LineReader(self._limits.line_bytes, self._limits.descriptors, self._descriptors.close)
        peer = Peer(self._loop, sock, self._on_message, self._descriptors, lines)
        self._peers[peer] = client
        peer.on_close.append(lambda: self._peers.__delitem__(peer))
        peer.on_incomplete = self._limit_bytes
        if self.on_connect is not None:
            self.on_connect(peer)
        if self._limits.waiting:
            waiting = [each for each in self._peers if each.waiting_since is not None]
            clients = [self._peers[each] for each in waiting]
            if (number := connection_to_close(clients, self._limits.waiting, self._limits.waiting_of_client)) is not None:
                waiting[number].close()
        self._loop.call_later(_CHECK_SECONDS, self._close_late)

    def _limit_bytes(self) -> None:
        if sum(each.incomplete_bytes for each in self._peers) > self._limits.total_bytes:
            max(self._peers, key=lambda each: each.incomplete_bytes).close()

    def _close_late(self) -> None:
        late = time.monotonic() - self._limits.seconds
        for peer in list(self._peers):
            since = peer.waiting_since if self._limits.waiting else None
            since = since if since is not None else peer.incomplete_since
            if since is not None and since < late:
                peer.close()
        if self._peers:
            self._loop.call_later(_CHECK_SECONDS, self._close_late)


def connection_to_close(clients: Sequence[str], waiting: int, waiting_of_client: int) -> int | None:
    """The number of the connection to close, if any. clients: of the waiting connections, the oldest first, the last one is new.

    A client that floods the socket loses its own connections: others keep theirs for the time between connect and send.
    """
    newest = clients[-1]
    if clients.count(newest) > waiting_of_client:
        return clients.index(newest)
    if len(clients) > waiting:
        return clients.index(Counter(clients).most_common(1)[0][0])
    return None


def client_of(sock: socket.socket) -> str:
    """The pod of the process that connected, by its cgroup; without cgroups its container, by its PID namespace."""
    pid, _, _ = _PEER_CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size))
    groups = _cgroups_of(pid)
    if groups and groups != _cgroups_of("self"):
        # The first one is that of the pod. A container can create more below it.
        return next((name for name in groups.split("/") if len(name) == _UID_LENGTH and name.count("-") == 4), groups)
    with contextlib.suppress(OSError):
        return str(os.stat(f"/proc/{pid}/ns/pid").st_ino)
    return ""


def _cgroups_of(pid: int | str) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cgroup", errors="replace") as file:
        return file.read()
    return ""
