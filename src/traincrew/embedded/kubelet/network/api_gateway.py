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
from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.model.resources import SERVICES

log = logging.getLogger(__name__)

PIECE = 1 << 16


class ApiGateway:
    """Hands connections on as they are: TLS is between the pod and the API server."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    @contextlib.asynccontextmanager
    async def open(self, holder: NetnsClient, address: str, number: int) -> AsyncIterator[None]:
        ready = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._listen(holder, address, number, ready))
        try:
            await ready
            yield
        finally:
            task.cancel()

    async def _listen(self, holder: NetnsClient, address: str, number: int, ready: asyncio.Future[None]) -> None:
        """Again with every holder: the last one's socket belongs to a network that is gone."""
        while True:
            generation = holder.generation
            try:
                door: socket.socket = await holder.listen(address, number)
            except OSError as error:
                if ready.done():
                    log.warning("API server not reachable for pods", extra={"error": str(error)})
                    await asyncio.sleep(1.0)
                    continue
                ready.set_exception(error)
                return
            server = await asyncio.start_server(self._serve, sock=door)
            if not ready.done():
                ready.set_result(None)
            try:
                await holder.wait_for_replacement(generation)
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
        while (piece := await reader.read(PIECE)) and not writer.is_closing():
            writer.write(piece)
            await writer.drain()
        if not writer.is_closing():
            writer.write_eof()
    except OSError:
        writer.close()


async def kubernetes_service(client: port.Reader) -> tuple[str, int] | None:
    """Address and port of the Service `kubernetes`, if the cluster has one."""
    try:
        found = msgspec.json.decode(await client.get(SERVICES, "default", "kubernetes"))
    except errors.NotFound:
        return None
    address = found["spec"].get("clusterIP", "")
    return (address, found["spec"]["ports"][0]["port"]) if address not in ("", "None") else None
