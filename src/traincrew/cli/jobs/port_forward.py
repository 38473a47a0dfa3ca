"""Forwards ports of this machine to ports of a replica."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import interrupts, query, replica_selection
from traincrew.cli.render import serialization, terminal
from traincrew.client import port_forward_websocket
from traincrew.client.remote import RemoteClient

PIECE = 64 * 1024
HALF_CLOSED_SECONDS = 10.0
"""The protocol has no message for the end of one direction: a closed connection looks like one whose answer is awaited."""
LARGEST_PORT = 65535


@dataclasses.dataclass(frozen=True)
class PortMapping:
    local: int
    """0: any free port."""
    remote: int


def parse_mapping(text: str) -> PortMapping:
    """`8080`, `8080:80` or `:80`, as kubectl has them."""
    local, colon, remote = text.rpartition(":")
    try:
        mapping = PortMapping(int(local or 0) if colon else int(remote), int(remote))
    except ValueError:
        mapping = PortMapping(0, 0)
    if not (0 <= mapping.local <= LARGEST_PORT and 1 <= mapping.remote <= LARGEST_PORT):
        raise errors.SettingsError(f"invalid port {text!r}: expected PORT, LOCAL:REMOTE or :REMOTE, such as 8080:80")
    return mapping


@dataclasses.dataclass(frozen=True)
class ForwardedPod:
    client: RemoteClient
    namespace: str
    name: str
    on_error: Callable[[str], None]

    @contextlib.asynccontextmanager
    async def listening(self, mapping: PortMapping, address: str = "127.0.0.1") -> AsyncIterator[int]:
        """Forward connections while the context is entered. Yield the local port."""

        async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._forward(mapping.remote, reader, writer)

        try:
            server = await asyncio.start_server(forward, address, mapping.local)
        except OSError as error:
            raise errors.SettingsError(
                f"cannot listen on {address}:{mapping.local}: {error.strerror or error}. Use another local port, such as "
                f":{mapping.remote} for any free port."
            ) from None
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            server.close()

    async def _forward(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with port_forward_websocket.opened(self.client, self.namespace, self.name, port) as connection:
                await _copy(connection, reader, writer)
        except errors.ApiError as error:
            self.on_error(f"cannot forward to port {port} of pod {self.name}: {error.message}")
        finally:
            writer.close()


async def _copy(
    connection: port_forward_websocket.PortConnection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Until the pod has closed the connection. When the other side has closed, the pod may still answer for a while."""

    async def send() -> None:
        while data := await reader.read(PIECE):
            await connection.write(data)

    async def receive() -> None:
        while data := await connection.read():
            writer.write(data)
            await writer.drain()

    tasks = [asyncio.create_task(send()), asyncio.create_task(receive())]
    try:
        sending, receiving = tasks
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not receiving.done():
            await asyncio.wait({receiving}, timeout=HALF_CLOSED_SECONDS)
        for task in (each for each in (receiving, sending) if each.done()):
            with contextlib.suppress(ConnectionError):  # either side was closed
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclasses.dataclass(frozen=True)
class PortForwardRequest:
    ports: tuple[str, ...]
    replica: str = ""
    address: str = "127.0.0.1"
    form: str = "text"


async def forward_ports(name: str, target_options: cluster_target.TargetOptions, request: PortForwardRequest) -> int:
    """Forward until the user interrupts; return the exit code."""
    mappings = [parse_mapping(text) for text in request.ports]
    async with query.connected(target_options) as (client, target), contextlib.AsyncExitStack() as stack:
        job, _ = await query.get_job(client, target.namespace, name)
        pod = replica_selection.running_pods(job, request.replica)[0]
        forwarded = ForwardedPod(client, pod.metadata.namespace, pod.name, _report)
        caught = interrupts.Interrupts()
        stack.enter_context(caught.caught())
        local = [await stack.enter_async_context(forwarded.listening(each, request.address)) for each in mappings]
        _print_addresses(pod.name, request, local, mappings)
        await caught.next()
    return 0


def _report(message: str) -> None:
    terminal.echo(f"error: {message}", err=True)


def _print_addresses(pod: str, request: PortForwardRequest, local: Sequence[int], mappings: Sequence[PortMapping]) -> None:
    pairs = list(zip(local, mappings, strict=True))
    if request.form == "text":
        for port, mapping in pairs:
            terminal.echo(f"Forwarding from {request.address}:{port} -> {mapping.remote} of pod {pod}")
    elif request.form == "name":
        terminal.echo("\n".join(f"{request.address}:{port}" for port in local))
    else:
        found = [{"pod": pod, "address": request.address, "local": port, "remote": each.remote} for port, each in pairs]
        serialization.show(found, request.form)
