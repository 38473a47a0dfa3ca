"""Netlink sockets and messages.

Written by hand: a netlink library would stay in the memory of the netns daemon for the life of the cluster.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import struct
from collections.abc import Iterator

NETLINK_ROUTE, NETLINK_NETFILTER = 0, 12
_ACK, _REQUEST, _DUMP, _CREATE, _EXCL = 4, 1, 0x300, 0x400, 0x200
_ERROR, _DONE = 2, 3
_SOL_NETLINK, _CAP_ACK, _EXT_ACK = 270, 10, 11
NESTED = 0x8000
NEW = _CREATE | _EXCL


@dataclasses.dataclass(frozen=True)
class NetlinkRequest:
    kind: int
    payload: bytes
    flags: int = 0
    what: str = ""
    """Completes the error message: `cannot …`."""
    ignored: tuple[int, ...] = ()
    """Error numbers that mean that nothing needs to be done."""


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", len(value) + 4, kind) + value + bytes(-len(value) % 4)


def nested(kind: int, *parts: bytes) -> bytes:
    return attribute(kind | NESTED, b"".join(parts))


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, position)
        if length < 4:
            return
        yield kind & 0x3FFF, data[position + 4 : position + length]
        position += (length + 3) & ~3


class Netlink:
    """A netlink socket of the network namespace in which it was created."""

    def __init__(self, protocol: int = NETLINK_ROUTE) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        try:
            self._socket.setsockopt(_SOL_NETLINK, _CAP_ACK, 1)
            self._socket.setsockopt(_SOL_NETLINK, _EXT_ACK, 1)
            self._socket.bind((0, 0))
        except BaseException:
            self._socket.close()
            raise
        self._sequence = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, *requests: NetlinkRequest) -> None:
        """Sends requests in one message. All are executed; the first error is raised."""
        first = self._sequence + 1
        packed = []
        for request in requests:
            self._sequence += 1
            packed.append(message(request, self._sequence, _REQUEST | _ACK | request.flags))
        self._socket.send(b"".join(packed))
        self._settle({first + index: request for index, request in enumerate(requests)})

    def batch(self, raw: bytes, waiting: dict[int, NetlinkRequest]) -> None:
        """Sends messages that the caller encoded. Those in `waiting` are acknowledged."""
        self._socket.send(raw)
        self._settle(waiting)

    def _settle(self, waiting: dict[int, NetlinkRequest]) -> None:
        error: OSError | None = None
        while waiting:
            for kind, sequence, payload in _messages(self._socket.recv(1 << 16)):
                request = waiting.pop(sequence, None) if kind == _ERROR else None
                if request is not None:
                    error = error or _error(request, payload)
        if error is not None:
            raise error

    def dump(self, request: NetlinkRequest) -> list[bytes]:
        self._sequence += 1
        self._socket.send(message(request, self._sequence, _REQUEST | _DUMP))
        payloads: list[bytes] = []
        while True:
            for kind, sequence, payload in _messages(self._socket.recv(1 << 18)):
                if sequence != self._sequence:
                    continue
                if kind == _ERROR and (error := _error(request, payload)):
                    raise error
                if kind in (_DONE, _ERROR):
                    return payloads
                payloads.append(payload)


def message(request: NetlinkRequest, sequence: int, flags: int) -> bytes:
    return struct.pack("=IHHII", len(request.payload) + 16, request.kind, flags, sequence, 0) + request.payload


def _messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    position = 0
    while position + 16 <= len(data):
        length, kind, _, sequence, _ = struct.unpack_from("=IHHII", data, position)
        if length < 16:
            return
        yield kind, sequence, data[position + 16 : position + length]
        position += (length + 3) & ~3


def _error(request: NetlinkRequest, payload: bytes) -> OSError | None:
    (number,) = struct.unpack_from("=i", payload)
    if number == 0 or -number in request.ignored:
        return None
    said = next((value.rstrip(b"\0").decode() for kind, value in attributes(payload[20:]) if kind == 1), "")
    reason = os.strerror(-number) + (f" ({said})" if said else "")
    return OSError(-number, f"cannot {request.what}: {reason}")
