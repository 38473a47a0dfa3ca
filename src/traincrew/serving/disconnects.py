"""Detects that a client has disconnected while its data is not being read.

While a command does not read its input, the connection is not read either, and the end of the stream is behind unread data. (If
the TCP window is full, the disconnect cannot be detected; the kubelet does not detect it either.)
"""

from __future__ import annotations

import asyncio
import socket

_LOOK = 1.0
_GONE = (7, 8, 9)
"""States of Linux's TCP: CLOSE, CLOSE_WAIT, LAST_ACK."""


async def wait_for_disconnect(transport: asyncio.BaseTransport | None) -> None:
    """Returns when the client has closed the connection. Without TCP_INFO it returns when the connection is closed here."""
    while transport is not None and not transport.is_closing() and not _left(transport):  # noqa: ASYNC110
        await asyncio.sleep(_LOOK)  # there is no event for it


def _left(transport: asyncio.BaseTransport) -> bool:
    end = transport.get_extra_info("socket")
    if end is None or not hasattr(socket, "TCP_INFO"):
        return False
    try:
        state = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    except (OSError, NotImplementedError):
        return False
    return state[0] in _GONE
