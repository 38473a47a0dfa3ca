"""The API server, as pods reach it: at the address of the Service `kubernetes`, within their own network."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.embedded.node.network.client import Holder
from traincrew.model.resources import SERVICES

log = logging.getLogger(__name__)

PIECE = 1 << 16


class Gateway:
    """Hands connections on as they are: TLS is between the pod and the API server."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    @contextlib.asynccontextmanager
    async def open(self, holder: Holder, address: str, number: int) -> AsyncIterator[None]:
        door: socket.socket = await holder.listen(address, number)
        server = await asyncio.start_server(self._serve, sock=door)
        try:
            yield
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            onward = await asyncio.open_connection(self._host, self._port)
        except OSError as error:
            log.warning("API server not reached for a pod", extra={"error": str(error)})
            writer.close()
            return
        try:
            await asyncio.gather(_pour(reader, onward[1]), _pour(onward[0], writer))
        finally:
            writer.close()
            onward[1].close()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def service(client: port.Reader) -> tuple[str, int] | None:
    """Address and port of the Service `kubernetes`, if the cluster has one."""
    try:
        found = msgspec.json.decode(await client.get(SERVICES, "default", "kubernetes"))
    except errors.NotFound:
        return None
    address = found["spec"].get("clusterIP", "")
    return (address, found["spec"]["ports"][0]["port"]) if address not in ("", "None") else None
