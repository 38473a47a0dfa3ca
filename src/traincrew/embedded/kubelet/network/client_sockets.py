"""UDP sockets of one server, each for a part of its clients: a client that floods its socket does not fill those of others."""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct

_ATTACH_REUSEPORT_CBPF = 51
_LOAD_WORD, _MODULO, _RETURN = 0x20, 0x94, 0x16
_IP_SOURCE = 0xFFF00000 + 12
"""Offset of the source address in the IPv4 header, for classic BPF programs (SKF_NET_OFF)."""


def datagram_sockets(address: str, port: int, count: int, buffer: int) -> list[socket.socket]:
    """The kernel gives all packets of a client to the same socket. Raises OSError.

    buffer: bytes of the receive buffer of each.
    """
    sockets: list[socket.socket] = []
    try:
        for _ in range(count):
            sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            sockets[-1].setblocking(False)
            sockets[-1].bind((address, port))
    except BaseException:
        for each in sockets:
            each.close()
        raise
    # Else the kernel distributes packets by address and port, which keeps some clients apart, too.
    with contextlib.suppress(OSError):
        _choose_by_client(sockets[0], count)
    return sockets


def _choose_by_client(sock: socket.socket, count: int) -> None:
    """The number of the socket is the address of the client modulo their count."""
    steps = ((_LOAD_WORD, _IP_SOURCE), (_MODULO, count), (_RETURN, 0))
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", code, 0, 0, value) for code, value in steps))
    filters = struct.pack("@HP", len(steps), ctypes.addressof(program))
    sock.setsockopt(socket.SOL_SOCKET, _ATTACH_REUSEPORT_CBPF, filters)
