"""Port-forward: several connections to ports of a pod over one connection."""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections.abc import AsyncIterator

import aiohttp
import pytest
from tests.embedded.kubelet.server import stream_clients
from tests.embedded.kubelet.server.nodes import Node
from tests.embedded.kubelet.server.stream_clients import wait_until

from traincrew.embedded.kubelet.server import spdy_connection, spdy_stream

PATH = "/portForward/ns/pod"
PROTOCOL = "portforward.k8s.io"


@pytest.fixture
async def echo(node: Node) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """An echo server at port 80 of the pod. Yields its connections."""
    connections: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        node.runtime.ports["pod", 80] = server.sockets[0].getsockname()[1]
        yield connections
        await wait_until(lambda: all(writer.is_closing() for writer in connections))


async def connect(
    connection: spdy_connection.SpdyConnection, port: int = 80, request: int | None = 0
) -> tuple[spdy_stream.SpdyStream, spdy_stream.SpdyStream]:
    named = {} if request is None else {"requestid": str(request)}
    error = await connection.open({"streamtype": "error", "port": str(port), **named})
    await error.finish()
    return error, await connection.open({"streamtype": "data", "port": str(port), **named})


async def read_all(stream: spdy_stream.SpdyStream) -> bytes:
    content = bytearray()
    async with asyncio.timeout(60):
        while data := await stream.read():
            content += data
    return bytes(content)


@pytest.mark.usefixtures("echo")
async def test_concurrent_connections_do_not_mix_their_data(node: Node) -> None:
    async def exchange(connection: spdy_connection.SpdyConnection, request: int) -> bool:
        content = os.urandom(1_000_000)
        error, data = await connect(connection, request=request)
        reading = asyncio.create_task(read_all(data))
        await data.write(content)
        await data.finish()
        return await reading == content and await read_all(error) == b""

    async with stream_clients.spdy_connection(node, PATH, PROTOCOL) as connection:
        assert all(await asyncio.gather(*(exchange(connection, request) for request in range(8))))


class ClientTransport:
    """The transport of a client of SPDY inside a WebSocket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        message = await self._socket.receive()
        return bytes(message.data) if message.type is aiohttp.WSMsgType.BINARY else b""

    async def write(self, data: bytes) -> None:
        for at in range(0, len(data), 1000):  # frames may span messages
            await self._socket.send_bytes(data[at : at + 1000])

    async def wait_for_disconnect(self) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None:
        await self._socket.close()


@pytest.mark.usefixtures("echo")
async def test_spdy_can_be_tunneled_through_a_websocket(client: aiohttp.ClientSession) -> None:
    content = os.urandom(500_000)
    async with client.ws_connect(PATH, protocols=("SPDY/3.1+portforward.k8s.io",)) as socket:
        assert socket.protocol == "SPDY/3.1+portforward.k8s.io"
        async with spdy_connection.serve(ClientTransport(socket)) as connection:
            error, data = await connect(connection)
            await data.write(content)
            await data.finish()
            assert await read_all(data) == content
            assert await read_all(error) == b""


@pytest.mark.usefixtures("echo")
async def test_clients_without_request_ids_are_supported(node: Node) -> None:
    async with stream_clients.spdy_connection(node, PATH, PROTOCOL) as connection:
        _, data = await connect(connection, request=None)
        await data.write(b"hello")
        await data.finish()
        assert await read_all(data) == b"hello"


async def test_a_closed_port_is_reported_on_the_error_stream(node: Node) -> None:
    async with stream_clients.spdy_connection(node, PATH, PROTOCOL) as connection:
        error, data = await connect(connection, port=81)
        assert (await read_all(error)).startswith(b"error forwarding port 81 to pod pod, uid : ")
        assert await read_all(data) == b""
        assert data.was_reset


async def test_streams_without_a_port_are_rejected(node: Node) -> None:
    async with stream_clients.spdy_connection(node, PATH, PROTOCOL) as connection:
        for wrong in ({"streamtype": "data"}, {"streamtype": "data", "port": "0"}, {"streamtype": "x", "port": "80"}):
            stream = await connection.open(wrong)
            assert await read_all(stream) == b""
            assert stream.was_reset


async def test_a_reset_closes_the_connection_in_the_pod(node: Node, echo: list[asyncio.StreamWriter]) -> None:
    async with stream_clients.spdy_connection(node, PATH, PROTOCOL) as connection:
        _, data = await connect(connection)
        await wait_until(lambda: echo)
        await data.reset()
        await wait_until(echo[0].is_closing)


async def test_a_disconnect_closes_the_connections_in_the_pod(node: Node, echo: list[asyncio.StreamWriter]) -> None:
    async with stream_clients.spdy_connection(node, PATH, PROTOCOL) as connection:
        await connect(connection)
        await wait_until(lambda: echo)
    await wait_until(echo[0].is_closing)


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize("protocol", ["v4.channel.k8s.io", "portforward.k8s.io"])
async def test_over_a_websocket_each_port_has_two_channels(client: aiohttp.ClientSession, protocol: str) -> None:
    content = os.urandom(3_000_000)
    async with client.ws_connect(f"{PATH}?port=80,81", protocols=(protocol,)) as socket:
        assert [await socket.receive_bytes() for _ in range(4)] == [
            bytes((channel,)) + struct.pack("<H", 80 + channel // 2) for channel in range(4)
        ]
        fault = await socket.receive_bytes()
        assert fault.startswith(b"\x03error forwarding port 81 to pod pod, uid : ")

        async def send() -> None:
            for at in range(0, len(content), 30_000):
                await socket.send_bytes(b"\0" + content[at : at + 30_000])

        sending = asyncio.create_task(send())
        received = bytearray()
        while len(received) < len(content):
            message = await socket.receive_bytes()
            assert message[0] == 0
            received += message[1:]
        await sending
    assert received == content


async def receive(socket: aiohttp.ClientWebSocketResponse, size: int) -> bytes:
    """Data of channel 0, after the messages that announce the ports."""
    received = bytearray()
    async with asyncio.timeout(60):
        while len(received) < size:
            message = await socket.receive_bytes()
            received += message[1:] if message[0] == 0 and len(message) > 3 else b""
    return bytes(received)


@pytest.mark.usefixtures("echo")
async def test_data_that_comes_before_the_connection_is_made_is_kept_in_order(client: aiohttp.ClientSession, node: Node) -> None:
    node.runtime.connectable.clear()
    async with client.ws_connect(f"{PATH}?port=80", protocols=("v4.channel.k8s.io",)) as socket:
        pieces = [b"first", b"second", b"third"]
        for piece in pieces:
            await socket.send_bytes(b"\0" + piece)
        await socket.receive_bytes()  # the port of the data channel: the server waits for the connection now
        node.runtime.connectable.set()
        assert await receive(socket, len(b"".join(pieces))) == b"".join(pieces)


@pytest.mark.usefixtures("echo")
async def test_a_client_must_wait_while_too_much_is_kept(client: aiohttp.ClientSession, node: Node) -> None:
    node.runtime.connectable.clear()
    content = os.urandom(60_000_000)
    async with client.ws_connect(f"{PATH}?port=80", protocols=("v4.channel.k8s.io",)) as socket:

        async def send() -> None:
            for at in range(0, len(content), 100_000):
                await socket.send_bytes(b"\0" + content[at : at + 100_000])

        sending = asyncio.create_task(send())
        assert not (await asyncio.wait({sending}, timeout=2))[0]
        node.runtime.connectable.set()
        assert await receive(socket, len(content)) == content
        await sending


@pytest.mark.usefixtures("echo")
async def test_data_for_a_port_that_refuses_does_not_stop_another(client: aiohttp.ClientSession) -> None:
    async with client.ws_connect(f"{PATH}?port=80,81", protocols=("v4.channel.k8s.io",)) as socket:
        for _ in range(100):
            await socket.send_bytes(b"\2" + bytes(100_000))
        await socket.send_bytes(b"\0" + b"hello")
        assert await receive(socket, 5) == b"hello"


async def test_data_of_a_client_that_disconnects_at_once_is_delivered(client: aiohttp.ClientSession, node: Node) -> None:
    content = os.urandom(1_000_000)
    received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def collect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            received.set_result(await reader.read())

    async with await asyncio.start_server(collect, "127.0.0.1", 0) as server:
        node.runtime.ports["pod", 80] = server.sockets[0].getsockname()[1]
        node.runtime.connectable.clear()
        async with client.ws_connect(f"{PATH}?port=80", protocols=("v4.channel.k8s.io",)) as socket:
            await socket.send_bytes(b"\0" + content)
            asyncio.get_running_loop().call_later(0.3, node.runtime.connectable.set)
        async with asyncio.timeout(20):
            assert await received == content


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", 'query parameter "port" is required'),
        ("?port=", 'query parameter "port" cannot be empty'),
        ("?port=x", 'unable to parse "x" as a port: strconv.ParseUint: parsing "x": invalid syntax'),
        ("?port=70000", 'unable to parse "70000" as a port: strconv.ParseUint: parsing "70000": value out of range'),
        ("?port=0", 'port "0" must be > 0'),
    ],
)
async def test_invalid_ports_in_the_query_are_rejected(client: aiohttp.ClientSession, query: str, text: str) -> None:
    websocket = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Protocol": stream_clients.V4}
    async with client.get(PATH + query, headers=websocket) as response:
        assert (response.status, await response.text()) == (400, text)
