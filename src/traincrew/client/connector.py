"""The connections of a client. Closing it leaves none behind."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from typing import Any

import aiohttp


class Connector(aiohttp.TCPConnector):
    """aiohttp only starts the TLS shutdown of a connection whose request was cancelled, and forgets it.

    Until the server has responded, the connection would outlive the client: the session of a user, or the event loop.
    """

    def __init__(self, *, keepalive_timeout: float) -> None:
        super().__init__(limit=0, keepalive_timeout=keepalive_timeout)
        self._transports: weakref.WeakKeyDictionary[Any, asyncio.Transport] = weakref.WeakKeyDictionary()

    async def connect(self, *arguments: Any, **more: Any) -> Any:
        connection = await super().connect(*arguments, **more)
        if connection.transport is not None:
            self._transports[connection.protocol] = connection.transport
        return connection

    async def abort(self) -> None:
        """After close()."""
        for transport in list(self._transports.values()):
            abort(transport)
        await asyncio.sleep(0)  # the event loop closes their sockets


def abort(transport: asyncio.WriteTransport) -> None:
    # Python 3.11.2: abort() of a TLS connection that was closed twice raises AttributeError instead of doing nothing.
    with contextlib.suppress(AttributeError):
        transport.abort()
