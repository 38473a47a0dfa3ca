"""The wire protocol of shims: JSON lines with file descriptors (docs/shim-protocol.md)."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]

CHUNK_BYTES = 1 << 16
MAX_LINE_BYTES = 16 << 20
"""A container's arguments and environment may have 2 MiB each."""
RESERVED_BYTES = 32 << 10
"""More than an exit record can have, including its escaped message of 4096 bytes."""
_MAX_FDS = 16


class LineReader:
    """Assembles messages. Descriptors arrive with the first byte of their line."""

    def __init__(self) -> None:
        self._partial = bytearray()
        self._fds: list[int] = []

    def feed(self, data: bytes, fds: Sequence[int] = ()) -> list[tuple[Message, list[int]]]:
        """ValueError: the data is not this protocol."""
        self._fds += fds
        self._partial += data
        *whole, rest = self._partial.split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise ValueError("a line is too long")
        self._partial = bytearray(rest)
        return [self._message(bytes(line)) for line in whole]

    def _message(self, line: bytes) -> tuple[Message, list[int]]:
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("not an object")
        count = int(message.pop("fds", 0))
        own, self._fds = self._fds[:count], self._fds[count:]
        if len(own) != count:
            raise ValueError("descriptors are missing")
        return message, own

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)
        self._fds = []


def encode(message: Message, fds: Sequence[int] = ()) -> bytes:
    if fds:
        message = {**message, "fds": len(fds)}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """As recv: b"" is the end of the stream."""
    data, fds, _, _ = socket.recv_fds(sock, CHUNK_BYTES, _MAX_FDS, socket.MSG_CMSG_CLOEXEC)
    return data, list(fds)


def send_some(sock: socket.socket, data: bytes | memoryview, fds: Sequence[int]) -> int:
    return socket.send_fds(sock, [data], list(fds)) if fds else sock.send(data)


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


def process_start(pid: int | str = "self") -> int:
    """Start time in clock ticks since boot. It distinguishes a process from a later one with the same id."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
