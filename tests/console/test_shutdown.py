"""The end of a console: requests that run are finished, and no new ones begin."""

from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest
from aiohttp import web

from traincrew.console import server


async def test_a_request_that_runs_at_the_end_is_finished() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"first half, ")
        begun.set()
        await may_end.wait()
        await response.write(b"second half")
        return response

    application = web.Application()
    application.router.add_get("/slow", slow)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with aiohttp.ClientSession() as http:
            ending = asyncio.Event()

            async def serve() -> None:
                async with server.serving(application, listening, finish_seconds=60.0):
                    await ending.wait()

            served = asyncio.create_task(serve())
            async with http.get(f"{address}/slow") as response:
                await begun.wait()
                ending.set()
                while listening.fileno() >= 0:  # noqa: ASYNC110
                    await asyncio.sleep(0)  # there is no event for a socket that is closed
                with pytest.raises(aiohttp.ClientConnectionError):
                    await http.get(f"{address}/fast")
                assert not served.done()
                may_end.set()
                assert await response.text() == "first half, second half"
            await served
