"""How daemon, template, shim and direct clients talk: one JSON object a line, descriptors beside it (docs/shim-protocol.md)."""

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
"""Bytes of a line. A container's arguments and environment may have 2 MiB each."""
RESERVED_BYTES = 32 << 10
"""Bytes: more than a record of an end can have, its message of 4096 bytes escaped included."""
_MOST_FDS = 16


class LineReader:
    """Puts messages together. Descriptors come with the first byte of their line, so they are never late."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._fds: list[int] = []

    def feed(self, data: bytes, fds: Sequence[int] = ()) -> list[tuple[Message, list[int]]]:
        """ValueError: this is no such conversation."""
        self._fds += fds
        self._begun += data
        *whole, rest = self._begun.split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise ValueError("a line without end")
        self._begun = bytearray(rest)
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
    """As recv: b"" is the end."""
    data, fds, _, _ = socket.recv_fds(sock, CHUNK_BYTES, _MOST_FDS, socket.MSG_CMSG_CLOEXEC)
    return data, list(fds)


def send_some(sock: socket.socket, data: bytes | memoryview, fds: Sequence[int]) -> int:
    return socket.send_fds(sock, [data], list(fds)) if fds else sock.send(data)


def reserve(directory: int, name: str) -> None:
    """Room for a file of that name, so that a full disk cannot keep it from being written later."""
    fd = os.open(_beside(name), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        os.posix_fallocate(fd, 0, RESERVED_BYTES)
    finally:
        os.close(fd)


def write_atomically(directory: int, name: str, data: bytes, *, durable: bool = True) -> None:
    """Beside and renamed, so that there is either the whole file or none; durable: also after a crash of the machine."""
    fd = os.open(_beside(name), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        if os.write(fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.ftruncate(fd, len(data))
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(_beside(name), name, src_dir_fd=directory, dst_dir_fd=directory)
    if durable:
        os.fsync(directory)


def _beside(name: str) -> str:
    return f".{name}.new"


def process_start(pid: int | str = "self") -> int:
    """In clock ticks since the boot: with it, a process is told from a later one of the same id."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
