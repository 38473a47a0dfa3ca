"""Sockets that listen at an address of this machine, with every family of addresses that it has."""

from __future__ import annotations

import asyncio
import errno
import socket

_BACKLOG = 1024
_MISSING = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
"""Errors of a machine without IPv6, or without IPv4."""


async def listen(host: str, port: int) -> list[socket.socket]:
    """At each address of the host; empty: at every address of this machine. All have the same port. Raise OSError."""
    if not host:
        return [all_families(port)]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, (name, _, *scope) in dict.fromkeys((each[0], each[4]) for each in found):
            chosen = sockets[0].getsockname()[1] if sockets else port
            try:
                sockets.append(_created((name, chosen, *scope), family))
            except OSError as error:
                if error.errno not in _MISSING:
                    raise
                missing = error  # localhost may have an address of a family that this machine does not have
        if missing is not None and not sockets:
            raise missing
    except BaseException:
        for each in sockets:
            each.close()
        raise
    return sockets


def all_families(port: int) -> socket.socket:
    """At every address, of IPv4 and IPv6, as Go listens at `:PORT`. Raise OSError.

    The addresses of IPv4 clients are mapped: `::ffff:10.0.0.1`.
    """
    try:
        return _created(("::", port), socket.AF_INET6, dual_stack=True)
    except OSError as error:
        if error.errno not in _MISSING:
            raise
        return _created(("", port), socket.AF_INET)


def _created(address: tuple[str | int, ...], family: socket.AddressFamily | int, *, dual_stack: bool = False) -> socket.socket:
    created = socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=dual_stack)
    created.setblocking(False)
    return created
