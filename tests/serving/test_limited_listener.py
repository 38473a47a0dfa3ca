"""Connections without credentials are limited; those with credentials are not, and survive a flood."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from traincrew.serving.limited_listener import LimitedListener

LIMIT = 5
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[int]:
    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Authorization"):
            listener.authenticated(request)
        return web.Response(text="ok")

    server = web.Server(respond)
    listener = LimitedListener(server, None, LIMIT)
    try:
        yield await listener.listen("127.0.0.1", 0)
    finally:
        await listener.close()
        await server.shutdown(1)


async def ask(connection: Connection, credentials: str = "") -> bytes:
    reader, writer = connection
    header = f"Authorization: {credentials}\r\n" if credentials else ""
    writer.write(f"GET / HTTP/1.1\r\nHost: x\r\n{header}\r\n".encode())
    try:
        async with asyncio.timeout(10):
            return (await reader.readuntil(b"ok"))[-2:]
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


async def closed(connection: Connection) -> bool:
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(10):
            return await connection[0].read(1) == b""
    return True


@pytest.fixture
async def opened() -> AsyncIterator[list[asyncio.StreamWriter]]:
    writers: list[asyncio.StreamWriter] = []
    yield writers
    for writer in writers:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_the_oldest_connection_without_credentials_makes_room(opened: list[asyncio.StreamWriter]) -> None:
    async with serving() as port:
        connections = []
        for _ in range(LIMIT + 2):
            connections.append(await asyncio.open_connection("127.0.0.1", port))
            opened.append(connections[-1][1])
            assert await ask(connections[-1]) == b"ok"
        assert [await closed(each) for each in connections[:2]] == [True, True]
        assert [await ask(each) for each in connections[2:]] == [b"ok"] * LIMIT


async def test_a_connection_with_credentials_survives_a_flood(opened: list[asyncio.StreamWriter]) -> None:
    async with serving() as port:
        kept = await asyncio.open_connection("127.0.0.1", port)
        opened.append(kept[1])
        assert await ask(kept, "Bearer x") == b"ok"
        for _ in range(10 * LIMIT):
            opened.append((await asyncio.open_connection("127.0.0.1", port))[1])
        assert await ask(kept) == b"ok"


async def test_connections_that_are_closed_do_not_count(opened: list[asyncio.StreamWriter]) -> None:
    async with serving() as port:
        first = await asyncio.open_connection("127.0.0.1", port)
        opened.append(first[1])
        assert await ask(first) == b"ok"
        for _ in range(10 * LIMIT):
            other = await asyncio.open_connection("127.0.0.1", port)
            assert await ask(other) == b"ok"
            other[1].close()
            await other[1].wait_closed()
        assert await ask(first) == b"ok"
