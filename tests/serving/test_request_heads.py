"""Unfinished request heads are limited, one by one and together; bodies, WebSockets and hijacked connections are not."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from traincrew.serving import http_connections, request_heads, upgrades
from traincrew.serving.limited_listener import LimitedListener

MUCH = 2 * request_heads.MAX_HEAD_BYTES
HIJACK = b"GET /hijack HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def respond(request: web.BaseRequest) -> web.StreamResponse:
    """With the number of bytes that the client has sent."""
    if request.path == "/hijack":
        async with upgrades.hijack(request, upgrades.response_head("101 Switching Protocols", {"Upgrade": "x"})) as (
            reader,
            writer,
        ):
            writer.write(str(len(await reader.readexactly(MUCH))).encode())
        return upgrades.HijackedResponse()
    if request.path == "/websocket":
        socket = web.WebSocketResponse(max_msg_size=2 * MUCH)
        await upgrades.accept_websocket(request, socket)  # type: ignore[arg-type]
        async for message in socket:
            await socket.send_str(str(len(message.data)))
        return socket
    count = 0
    async for piece in request.content.iter_any():
        count += len(piece)
    return web.Response(text=str(count))


@contextlib.asynccontextmanager
async def serving(limit: int = 100) -> AsyncIterator[int]:
    """With the limits of the API server, where the fields may be large."""
    server = web.Server(respond, max_line_size=1 << 20, max_field_size=1 << 20, logger=http_connections.connection_logger())
    listener = LimitedListener(server, None, limit)
    try:
        async with asyncio.timeout(60):
            yield await listener.listen("127.0.0.1", 0)
    finally:
        await listener.close()
        await server.shutdown(1)


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def header(number: int, size: int) -> bytes:
    return b"X-%d: %s\r\n" % (number, b"x" * size)


async def test_headers_that_are_too_many_together_end_the_connection() -> None:
    async with serving() as port, connected(port) as (reader, writer):
        half = request_heads.MAX_HEAD_BYTES // 2
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + header(1, half) + header(2, half - 100))
        await writer.drain()
        writer.write(header(3, 200))
        assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")


async def test_a_head_below_the_limit_is_answered_and_the_next_one_too() -> None:
    async with serving() as port, connected(port) as (reader, writer):
        for _ in range(3):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + header(1, request_heads.MAX_HEAD_BYTES - 10_000) + b"\r\n")
            assert (await reader.readuntil(b"\r\n\r\n0")).startswith(b"HTTP/1.1 200 ")


async def test_of_many_unfinished_heads_the_longest_is_closed() -> None:
    size = 500_000
    async with serving() as port, contextlib.AsyncExitStack() as stack:
        small = await stack.enter_async_context(connected(port))
        small[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n")
        others = []
        for _ in range(request_heads.MAX_HEADS_BYTES // size + 3):
            others.append(await stack.enter_async_context(connected(port)))
            others[-1][1].write(b"GET / HTTP/1.1\r\nHost: x\r\n" + header(1, size))
        ended = [asyncio.create_task(each[0].read()) for each in others]
        await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
        small[1].write(b"\r\n")
        assert (await small[0].readuntil(b"\r\n\r\n0")).startswith(b"HTTP/1.1 200 ")
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)


async def test_connections_that_are_closed_do_not_count() -> None:
    async with serving() as port:
        for _ in range(2 * request_heads.MAX_HEADS_BYTES // 1_000_000):
            async with connected(port) as (_, writer):
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + header(1, 1_000_000))
                await writer.drain()
        async with connected(port) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + header(1, 1_000_000) + b"\r\n")
            assert (await reader.readuntil(b"\r\n\r\n0")).startswith(b"HTTP/1.1 200 ")


@pytest.fixture
def _uncollected() -> Iterator[None]:
    """Errors and the frames that they have passed are cycles."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["first line", "line of the second request"])
@pytest.mark.usefixtures("_uncollected")
async def test_a_malformed_line_of_any_length_takes_little_memory(before: bytes) -> None:
    async with serving() as port, connected(port) as (reader, writer):
        writer.write(before)
        if before:
            await reader.readuntil(b"\r\n\r\n0")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 64 << 20:
                writer.write(b"x" * (1 << 20))
                await writer.drain()
                sent += 1 << 20
        kept = [len(each.message) for each in gc.get_objects() if isinstance(each, HttpProcessingError)]
        assert kept
        assert sum(kept) < 16 * request_heads.PIECE_BYTES
        assert sent < 64 << 20


async def test_a_body_is_no_head() -> None:
    async with serving() as port, connected(port) as (reader, writer):
        for _ in range(2):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % MUCH + b"x" * MUCH)
            assert (await reader.readuntil(b"\r\n\r\n%d" % MUCH)).startswith(b"HTTP/1.1 200 ")


async def test_messages_of_a_websocket_are_no_heads() -> None:
    async with (
        serving() as port,
        aiohttp.ClientSession() as session,
        session.ws_connect(f"http://127.0.0.1:{port}/websocket") as socket,
    ):
        for _ in range(2):
            await socket.send_bytes(b"x" * MUCH)
            assert await socket.receive_str() == str(MUCH)


async def test_the_data_of_a_hijacked_connection_is_no_head() -> None:
    async with serving() as port, connected(port) as (reader, writer):
        writer.write(HIJACK)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        writer.write(b"x" * MUCH)
        assert await reader.readuntil(str(MUCH).encode()) == str(MUCH).encode()
