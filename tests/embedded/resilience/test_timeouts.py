"""Clients that stop in the middle of a request or response are disconnected. The timeouts are shortened for the tests."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import ssl
from collections.abc import AsyncIterator

import pytest
from tests.embedded.resilience import in_process_cluster, timeouts
from tests.embedded.resilience.cluster_process import config_map
from tests.embedded.resilience.raw_http import Connection
from tests.embedded.resilience.request_generator import RawRequest
from tests.embedded.resilience.test_malformed_http import JSON, LIST, assert_rejected

from traincrew.embedded import daemon
from traincrew.embedded.apiserver.http import responses, server


class InProcessEndpoint:
    """The endpoint of a cluster that runs in the process of the test."""

    def __init__(self, running: daemon.RunningCluster) -> None:
        self._found = running
        host, _, port = running.url.removeprefix("https://").rpartition(":")
        self.address: tuple[str, int] = (host, int(port))
        self.token = running.control_plane.admin_token

    async def connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        trust = ssl.create_default_context(cadata=self._found.control_plane.pki.authority.decode())
        return await asyncio.open_connection(*self.address, ssl=trust)


@pytest.fixture
async def cluster(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InProcessEndpoint]:
    monkeypatch.setattr(server, "KEEPALIVE_SECONDS", 0.5)
    monkeypatch.setattr(responses, "CLIENT_TIMEOUT", 0.5)
    async with daemon.run(in_process_cluster.options(tmp_path / "data")) as running:
        yield InProcessEndpoint(running)


@pytest.mark.parametrize("sent", [b"", b"GET /api HTTP/1.1\r\nHost: "], ids=["nothing", "half of a header"])
async def test_a_connection_without_a_request_is_closed(cluster: InProcessEndpoint, sent: bytes) -> None:
    reader, writer = await cluster.connection()
    writer.write(sent)
    async with asyncio.timeout(30):
        assert await reader.read() == b""
    writer.transport.abort()


async def test_a_body_that_never_ends_is_rejected(cluster: InProcessEndpoint) -> None:
    connection = await Connection.to(cluster)
    connection.writer.write(connection.encoded(RawRequest("POST", LIST.target, JSON, config_map("half")))[:-5])
    async with asyncio.timeout(30):
        assert_rejected(await connection.response(), 504, "Timeout")
    await connection.close()


async def test_a_client_that_does_not_read_is_disconnected(cluster: InProcessEndpoint) -> None:
    before = sockets()
    maker = await Connection.to(cluster)
    for number in range(60):
        maker.send(RawRequest("POST", LIST.target, JSON, config_map(f"large-{number}", text="x" * 500_000)))
        assert (await maker.response()).code == 201
    await maker.close()
    await timeouts.until(lambda: sockets() == before, "the first connection to close")
    reader = await Connection.to(cluster)
    reader.send(LIST)
    # The end of the client stays open: a client that does not read does not see that the server closed the connection.
    await timeouts.until(lambda: sockets() == before + 2, "the connection to open")
    await timeouts.until(lambda: sockets() == before + 1, "the connection to close")
    await reader.close()


def sockets() -> int:
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return count
