"""Whether the other end of a connection has left, though nobody reads from it.

A client that sends faster than its command reads is not read any further, and its leaving is behind what was not read. (If it
left so much unread that TCP itself is stuck, nobody can know; a kubelet does not either.)
"""

from __future__ import annotations

import asyncio
import socket

_LOOK = 1.0
_GONE = (7, 8, 9)
"""States of Linux's TCP: CLOSE, CLOSE_WAIT, LAST_ACK."""


async def wait_for_disconnect(transport: asyncio.BaseTransport | None) -> None:
    """Returns when the other end has closed. Where the system does not tell, it takes until the connection is closed here."""
    while transport is not None and not transport.is_closing() and not _left(transport):  # noqa: ASYNC110
        await asyncio.sleep(_LOOK)  # no event tells of it


def _left(transport: asyncio.BaseTransport) -> bool:
    end = transport.get_extra_info("socket")
    if end is None or not hasattr(socket, "TCP_INFO"):
        return False
    try:
        state = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    except (OSError, NotImplementedError):
        return False
    return state[0] in _GONE
