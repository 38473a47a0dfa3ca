"""Copies the bytes of an upgraded connection to another connection and back."""

from __future__ import annotations

import asyncio
import contextlib

from traincrew.serving.disconnects import wait_for_disconnect

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_PIECE = 256 * 1024
_FLUSH_SECONDS = 5.0
"""Seconds to deliver the data of a client that has disconnected."""


async def copy_both_directions(client: Streams, server: Streams) -> None:
    """Copies until one side ends; the other side is closed after the remaining bytes are delivered."""
    works = (_copy(client[0], server[1]), _copy(server[0], client[1]), wait_for_disconnect(client[1].transport))
    tasks = from_client, from_server, _ = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not from_server.done():
            # A client may send data and disconnect at once. What it has sent is still delivered.
            await asyncio.wait({from_client}, timeout=_FLUSH_SECONDS)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, OSError):
        while data := await reader.read(_PIECE):
            writer.write(data)
            await writer.drain()
