"""The API server inside the pods' network, at the cluster IP of the Service `kubernetes`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.embedded.kubelet.network.connection_limits import ConnectionLimits
from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.model.resources import SERVICES

log = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 16


class ApiGateway:
    """Forwards TCP connections unchanged: TLS is between the pod and the API server."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._limits: ConnectionLimits[asyncio.WriteTransport] = ConnectionLimits.of_process()

    @contextlib.asynccontextmanager
    async def open(self, netns: NetnsClient, address: str, number: int) -> AsyncIterator[None]:
        ready = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._listen(netns, address, number, ready))
        try:
            await ready
            yield
        finally:
            task.cancel()

    async def _listen(self, netns: NetnsClient, address: str, number: int, ready: asyncio.Future[None]) -> None:
        """Listens again when the netns daemon is replaced: the former socket belongs to a network that is gone."""
        while True:
            generation = netns.generation
            try:
                listener: socket.socket = await netns.listen(address, number)
            except OSError as error:
                if ready.done():
                    log.warning("cannot listen for pods at the address of the API server", extra={"error": str(error)})
                    await asyncio.sleep(1.0)
                    continue
                ready.set_exception(error)
                return
            server = await asyncio.start_server(self._serve, sock=listener)
            if not ready.done():
                ready.set_result(None)
            try:
                await netns.wait_for_replacement(generation)
            finally:
                server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pod, transport = str((writer.get_extra_info("peername") or ("",))[0]), writer.transport
        if not self._limits.add(pod, transport):
            transport.abort()
            return
        try:
            await self._forward(reader, writer)
        finally:
            self._limits.remove(pod, transport)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream = await asyncio.open_connection(self._host, self._port)
        except OSError as error:
            log.warning("cannot connect to the API server for a pod", extra={"error": str(error)})
            writer.close()
            return
        try:
            await asyncio.gather(_copy(reader, upstream[1]), _copy(upstream[0], writer))
        finally:
            writer.close()
            upstream[1].close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while (chunk := await reader.read(CHUNK_BYTES)) and not writer.is_closing():
            writer.write(chunk)
            await writer.drain()
        if not writer.is_closing():
            writer.write_eof()
    except OSError:
        writer.close()


async def kubernetes_service(client: interfaces.Reader) -> tuple[str, int] | None:
    """Cluster IP and port of the Service `kubernetes`, if there is one."""
    try:
        service = msgspec.json.decode(await client.get(SERVICES, "default", "kubernetes"))
    except errors.NotFound:
        return None
    address = service["spec"].get("clusterIP", "")
    return (address, service["spec"]["ports"][0]["port"]) if address not in ("", "None") else None
