"""The wire protocol of shims: JSON lines with file descriptors (docs/shim-protocol.md)."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Message = dict[str, Any]

CHUNK_BYTES = 1 << 16
MAX_LINE_BYTES = 16 << 20
"""A container's arguments and environment may have 2 MiB each."""
RESERVED_BYTES = 32 << 10
"""More than an exit record can have, including its escaped message of 4096 bytes."""
MAX_FDS = 16
"""Descriptors of one message."""
SCM_MAX_FD = 253
"""Descriptors that Linux transfers at once. For fewer, recvmsg would close the rest, and perhaps wait for it."""


def close_all(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


class LineReader:
    """Assembles messages. Descriptors arrive with the first byte of their line."""

    def __init__(
        self, max_bytes: int = MAX_LINE_BYTES, max_fds: int = MAX_FDS, close_fds: Callable[[Sequence[int]], None] = close_all
    ) -> None:
        self._max_bytes, self._max_fds, self._close_fds = max_bytes, max_fds, close_fds
        self._partial = bytearray()
        self._fds: list[int] = []

    @property
    def incomplete(self) -> bool:
        """Whether a message has begun."""
        return bool(self._partial or self._fds)

    @property
    def size(self) -> int:
        """Bytes of the message that has begun."""
        return len(self._partial)

    def feed(self, data: bytes, fds: Sequence[int] = ()) -> Iterator[tuple[Message, list[int]]]:
        """Yields the complete messages. ValueError: the data is not this protocol. Descriptors that are left are then closed."""
        self._fds += fds
        searched = len(self._partial)
        self._partial += data
        try:
            while (end := self._partial.find(b"\n", searched)) >= 0:
                line, searched = bytes(self._partial[:end]), 0
                del self._partial[: end + 1]
                yield self._message(line)
            self._check(len(self._partial), len(self._fds))
        except ValueError:
            self.close()
            raise

    def _check(self, size: int, count: int) -> None:
        if size > self._max_bytes:
            raise ValueError("a line is too long")
        if count > self._max_fds:
            raise ValueError("too many descriptors")

    def _message(self, line: bytes) -> tuple[Message, list[int]]:
        self._check(len(line), 0)
        try:
            message = json.loads(line)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(message, dict):
            raise ValueError("not an object")
        count = message.pop("fds", 0)
        if type(count) is not int or not 0 <= count <= len(self._fds):
            raise ValueError("descriptors are missing")
        own, self._fds = self._fds[:count], self._fds[count:]
        return message, own

    def close(self) -> None:
        fds, self._fds = self._fds, []
        self._close_fds(fds)


def encode(message: Message, fds: Sequence[int] = ()) -> bytes:
    if fds:
        message = {**message, "fds": len(fds)}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """As recv: b"" is the end of the stream."""
    data, fds, _, _ = socket.recv_fds(sock, CHUNK_BYTES, SCM_MAX_FD, socket.MSG_CMSG_CLOEXEC)
    return data, list(fds)


def send_some(sock: socket.socket, data: bytes | memoryview, fds: Sequence[int]) -> int:
    return socket.send_fds(sock, [data], list(fds)) if fds else sock.send(data)


def send_queued(sock: socket.socket, unsent: list[tuple[memoryview, list[int]]]) -> None:
    """Sends messages with their descriptors, which it closes. BlockingIOError: the rest must wait."""
    while unsent:
        data, fds = unsent[0]
        sent = send_some(sock, data, fds)
        for fd in fds:
            with contextlib.suppress(OSError):
                os.close(fd)
        unsent[0] = (data[sent:], [])
        if sent == len(data):
            del unsent[0]


def reserve(directory: int, name: str) -> None:
    """Reserves disk space for a file, so that it can be written when the disk is full."""
    fd = os.open(_temporary(name), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        os.posix_fallocate(fd, 0, RESERVED_BYTES)
    finally:
        os.close(fd)


def write_atomically(directory: int, name: str, data: bytes, *, durable: bool = True) -> None:
    """Writes a temporary file and renames it. durable: also survives a crash of the machine."""
    fd = os.open(_temporary(name), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        if os.write(fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.ftruncate(fd, len(data))
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(_temporary(name), name, src_dir_fd=directory, dst_dir_fd=directory)
    if durable:
        os.fsync(directory)


def _temporary(name: str) -> str:
    return f".{name}.new"
