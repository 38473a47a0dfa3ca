"""A query to an upstream resolver over TCP."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime.event_loop import READ, WRITE, EventLoop

TIMEOUT_SECONDS = 0.9
"""Seconds until a query fails."""
OnReply = Callable[[bytes], None]
"""Receives the reply; b"" if there is none."""
DNS_PORT = 53


class TcpQuery:
    """One question by TCP. The socket is used again afterwards: a new one would belong to the wrong network."""

    def __init__(self, loop: EventLoop, idle: list[socket.socket], server: tuple[str, int], data: bytes, done: OnReply) -> None:
        self._loop, self._idle, self._done = loop, idle, done
        self._socket: socket.socket | None = (taken := idle.pop())
        self._out, self._in = struct.pack("!H", len(data)) + data, b""
        taken.connect_ex(server)
        loop.watch(taken.fileno(), WRITE, self._write)
        loop.call_later(TIMEOUT_SECONDS, self._end)

    def _write(self) -> None:
        if self._socket is None:
            return
        try:
            self._out = self._out[self._socket.send(self._out) :]
        except BlockingIOError:
            return
        except OSError:
            self._end()
            return
        if not self._out:
            self._loop.watch(self._socket.fileno(), READ, self._read)

    def _read(self) -> None:
        if self._socket is None:
            return
        try:
            data = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._in += data
        complete = len(self._in) >= 2 and len(self._in) >= 2 + int.from_bytes(self._in[:2], "big")
        if complete or not data:
            self._end()

    def _end(self) -> None:
        if self._socket is None:
            return
        self._loop.unwatch(self._socket.fileno())
        disconnect(self._socket.fileno())
        self._idle.append(self._socket)
        self._socket = None
        length = int.from_bytes(self._in[:2], "big") if len(self._in) > 2 else 0
        self._done(self._in[2 : 2 + length] if length and len(self._in) >= 2 + length else b"")


def disconnect(descriptor: int) -> None:
    """connect() with AF_UNSPEC disconnects the socket, so that it can be used again."""
    nowhere = ctypes.create_string_buffer(bytes(16))
    ctypes.CDLL(None).connect(ctypes.c_int(descriptor), nowhere, ctypes.c_uint(16))
