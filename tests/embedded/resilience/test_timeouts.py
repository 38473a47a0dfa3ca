"""Clients that begin and do not go on are let go. In the test's own process, with shorter patience than the server's."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import ssl
from collections.abc import AsyncIterator

import pytest
from tests.embedded.resilience import patience, played
from tests.embedded.resilience.asked import Asked
from tests.embedded.resilience.clusters import config_map
from tests.embedded.resilience.test_wire import JSON, LIST, refused
from tests.embedded.resilience.wire import Connection

from traincrew.embedded import daemon
from traincrew.embedded.apiserver.http import responses, server


class Inside:
    """A cluster within this process, as connections see it."""

    def __init__(self, found: daemon.Running) -> None:
        self._found = found
        host, _, port = found.url.removeprefix("https://").rpartition(":")
        self.address: tuple[str, int] = (host, int(port))
        self.token = found.daemon.admin_token

    async def connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        trust = ssl.create_default_context(cadata=self._found.daemon.pki.authority.decode())
        return await asyncio.open_connection(*self.address, ssl=trust)


@pytest.fixture
async def cluster(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Inside]:
    monkeypatch.setattr(server, "IDLE", 0.5)
    monkeypatch.setattr(responses, "STALLED", 0.5)
    async with daemon.running(played.options(tmp_path / "data")) as found:
        yield Inside(found)


@pytest.mark.parametrize("sent", [b"", b"GET /api HTTP/1.1\r\nHost: "], ids=["nothing", "half of a header"])
async def test_a_connection_without_a_request_is_ended(cluster: Inside, sent: bytes) -> None:
    reader, writer = await cluster.connection()
    writer.write(sent)
    async with asyncio.timeout(30):
        assert await reader.read() == b""
    writer.transport.abort()


async def test_a_body_that_never_ends_is_refused(cluster: Inside) -> None:
    connection = await Connection.to(cluster)
    connection.writer.write(connection.encoded(Asked("POST", LIST.target, JSON, config_map("half")))[:-5])
    async with asyncio.timeout(30):
        refused(await connection.answer(), 504, "Timeout")
    await connection.close()


async def test_who_does_not_read_is_cut_off(cluster: Inside) -> None:
    before = sockets()
    maker = await Connection.to(cluster)
    for number in range(60):
        maker.send(Asked("POST", LIST.target, JSON, config_map(f"large-{number}", text="x" * 500_000)))
        assert (await maker.answer()).code == 201
    await maker.close()
    await patience.until(lambda: sockets() == before, "the end of the first connection")
    reader = await Connection.to(cluster)
    reader.send(LIST)
    # Its own end stays open: who reads nothing does not see that the other end is gone.
    await patience.until(lambda: sockets() == before + 2, "the connection")
    await patience.until(lambda: sockets() == before + 1, "the end of the connection")
    await reader.close()


def sockets() -> int:
    found = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return found
