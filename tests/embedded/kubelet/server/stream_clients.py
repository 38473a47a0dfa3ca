"""Minimal clients of exec, attach and port-forward, over SPDY and WebSockets."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import aiohttp
from tests.embedded.kubelet.server.nodes import Node

from traincrew.embedded.kubelet.server import spdy_connection as server_spdy_connection
from traincrew.embedded.kubelet.server.transports import StreamTransport

V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
NUMBERS = {"stdin": 0, "stdout": 1, "stderr": 2, "error": 3, "resize": 4}


async def wait_until(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  the condition has no event
            await asyncio.sleep(0.01)


async def upgrade(node: Node, path: str, headers: Mapping[str, str]) -> tuple[str, asyncio.StreamReader, asyncio.StreamWriter]:
    """The head of the response, and the streams of the upgraded connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", node.port, ssl=node.ssl)
    given = {"Host": "node", "Connection": "Upgrade", "Upgrade": "SPDY/3.1", **node.headers, **headers}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
    writer.write("\r\n".join(lines).encode())
    head = await reader.readuntil(b"\r\n\r\n")
    return head.decode(), reader, writer


@contextlib.asynccontextmanager
async def spdy_connection(node: Node, path: str, protocol: str = V4) -> AsyncIterator[server_spdy_connection.SpdyConnection]:
    head, reader, writer = await upgrade(node, path, {"X-Stream-Protocol-Version": protocol})
    assert head.startswith("HTTP/1.1 101 "), head
    assert f"X-Stream-Protocol-Version: {protocol}\r\n" in head
    connection = server_spdy_connection.SpdyConnection(StreamTransport(reader, writer))
    running = asyncio.create_task(connection.run())
    try:
        yield connection
    finally:
        writer.transport.abort()
        await running


class ExecClient:
    """A running command, over either protocol."""

    send: Callable[[str, bytes], Awaitable[None]]
    close_stdin: Callable[[], Awaitable[None]]

    def __init__(self) -> None:
        self.received = {"stdout": bytearray(), "stderr": bytearray(), "error": bytearray()}
        self.ended = asyncio.Event()

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = json.loads(self.received["error"])
        return status

    async def outcome(self) -> int:
        """The exit code."""
        async with asyncio.timeout(60):
            await self.ended.wait()
        if self.status["status"] == "Success":
            return 0
        return int(self.status["details"]["causes"][0]["message"])


def query(*command: str, channels: str = "output error") -> str:
    return urlencode([*(("command", part) for part in command), *((channel, "1") for channel in channels.split())])


@contextlib.asynccontextmanager
async def spdy_exec(node: Node, path: str, protocol: str = V4) -> AsyncIterator[ExecClient]:
    names = {"input": "stdin", "output": "stdout", "error": "stderr"}
    types = [
        "error",
        *(name for flag, name in names.items() if f"{flag}=1" in path),
        *(["resize"] if "tty=1" in path else []),
    ]
    running = ExecClient()
    async with spdy_connection(node, path, protocol) as connection:
        streams = {name: await connection.open({"streamtype": name}) for name in types}

        async def collect(name: str) -> None:
            while data := await streams[name].read():
                running.received[name] += data

        async def collect_all() -> None:
            await asyncio.gather(*(collect(name) for name in types if name in running.received))
            running.ended.set()

        async def send(name: str, data: bytes) -> None:
            await streams[name].write(data)

        running.send, running.close_stdin = send, lambda: streams["stdin"].finish()
        collecting = asyncio.create_task(collect_all())
        yield running
        collecting.cancel()


@contextlib.asynccontextmanager
async def websocket_exec(session: aiohttp.ClientSession, path: str, protocol: str = V5) -> AsyncIterator[ExecClient]:
    running = ExecClient()
    coded = "base64" in protocol
    names = {number: name for name, number in NUMBERS.items()}
    async with session.ws_connect(path, protocols=(protocol,), max_msg_size=0) as socket:
        assert socket.protocol == protocol

        async def collect() -> None:
            async for message in socket:
                if coded:
                    name, data = names[int(message.data[0])], base64.b64decode(message.data[1:])
                else:
                    name, data = names[message.data[0]], message.data[1:]
                running.received[name] += data
            running.ended.set()

        async def send(name: str, data: bytes) -> None:
            if coded:
                await socket.send_str(f"{NUMBERS[name]}{base64.b64encode(data).decode()}")
            else:
                await socket.send_bytes(bytes((NUMBERS[name],)) + data)

        running.send, running.close_stdin = send, lambda: socket.send_bytes(b"\xff\x00")
        collecting = asyncio.create_task(collect())
        yield running
        collecting.cancel()
        if not running.ended.is_set():  # abort the connection, even with data in flight
            connection = socket._response.connection
            assert connection
            assert connection.transport
            connection.transport.abort()
