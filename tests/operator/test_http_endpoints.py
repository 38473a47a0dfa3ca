"""The HTTP endpoints of the operator hold a limited number of connections, and answer the next client."""

from __future__ import annotations

import asyncio
import os

from tests.cluster.operators import free_port

from traincrew.operator import http_endpoints
from traincrew.operator.http_endpoints import MAX_CONNECTIONS


async def _fetch(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(20):
        response = await reader.read()
    writer.close()
    return response


async def test_connections_without_a_request_do_not_keep_a_probe_from_its_answer() -> None:
    port, before = free_port(), len(os.listdir("/proc/self/fd"))
    async with http_endpoints.serve(f"127.0.0.1:{port}", http_endpoints.health_app(lambda: "", list)):
        kept = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3 * MAX_CONNECTIONS)]
        assert (await _fetch(port)).startswith(b"HTTP/1.1 200 ")
        # The clients are in this process, too.
        assert len(os.listdir("/proc/self/fd")) - before - len(kept) < MAX_CONNECTIONS + 20
        for _, writer in kept:
            writer.close()
