"""The messages of HTTP and TCP probes are those of the kubelet's probers (k8s.io/kubernetes/pkg/probe 1.32)."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from traincrew.embedded.kubelet.pods import probe_messages
from traincrew.embedded.kubelet.pods.http_get import HttpGetAction
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.probe_actions import ProbeAction, ProbeResult, TcpAction

HOST = "127.0.0.1"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@pytest.fixture
def network(tmp_path: pathlib.Path) -> PodNetwork:
    return PodNetwork(None, HOST, tmp_path)


@contextlib.asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[int]:
    async with await asyncio.start_server(serve, HOST, 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        port: int = free.getsockname()[1]
        return port


def responds(text: bytes) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            await reader.read(1000)
            writer.write(text)

    return serve


async def resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()


async def run(action: ProbeAction, seconds: float = 10) -> ProbeResult:
    try:
        async with asyncio.timeout(seconds):
            return await action.run()
    except TimeoutError:
        return ProbeResult(False, action.timeout_message(seconds))


@pytest.mark.parametrize("scheme", ["HTTP", "HTTPS"])
async def test_a_refused_connection_names_the_number_of_the_port(network: PodNetwork, closed_port: int, scheme: str) -> None:
    refused = f"dial tcp {HOST}:{closed_port}: connect: connection refused"
    assert await run(TcpAction(network, HOST, closed_port)) == ProbeResult(False, refused)
    action = HttpGetAction(network, HOST, closed_port, {"path": "x?a=b", "scheme": scheme})
    assert await run(action) == ProbeResult(False, f'Get "{scheme.lower()}://{HOST}:{closed_port}/x?a=b": {refused}')


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (b"", "EOF"),
        (b"hello\r\n", 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "hello"'),
        (b"hello world\r\n", 'net/http: HTTP/1.x transport connection broken: malformed HTTP status code "world"'),
        (b"hello 200 OK\r\n", 'net/http: HTTP/1.x transport connection broken: malformed HTTP version "hello"'),
    ],
)
async def test_a_response_that_is_not_http(network: PodNetwork, response: bytes, reason: str) -> None:
    async with serving(responds(response)) as port:
        assert await run(HttpGetAction(network, HOST, port, {})) == ProbeResult(False, f'Get "http://{HOST}:{port}/": {reason}')


async def test_the_status_code_decides(network: PodNetwork) -> None:
    async with serving(responds(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")) as port:
        assert await run(HttpGetAction(network, HOST, port, {})) == ProbeResult(False, "HTTP probe failed with statuscode: 503")
    async with serving(responds(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")) as port:
        assert await run(HttpGetAction(network, HOST, port, {})) == ProbeResult(True, "yes")


async def test_a_server_without_tls_is_named_so(network: PodNetwork) -> None:
    async with serving(responds(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        result = await run(HttpGetAction(network, HOST, port, {"scheme": "HTTPS"}))
    assert result.message == f'Get "https://{HOST}:{port}/": http: server gave HTTP response to HTTPS client'


async def test_a_reset_connection_names_both_addresses(network: PodNetwork) -> None:
    async with serving(resets) as port:
        result = await run(HttpGetAction(network, HOST, port, {}))
    start, _, end = result.message.partition("->")
    assert start.startswith(f'Get "http://{HOST}:{port}/": read tcp {HOST}:')
    assert end == f"{HOST}:{port}: read: connection reset by peer"


async def test_a_server_that_does_not_respond_in_time(network: PodNetwork) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            await reader.read()

    async with serving(silent) as port:
        result = await run(HttpGetAction(network, HOST, port, {}), 0.2)
    why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert result == ProbeResult(False, f'Get "http://{HOST}:{port}/": {why}')
    assert TcpAction(network, HOST, 80).timeout_message(1) == f"dial tcp {HOST}:80: i/o timeout"


def test_a_port_is_found_by_its_name() -> None:
    assert probe_messages.port_number("web", {"web": 8080}) == 8080
    assert probe_messages.port_number("81", {"web": 8080}) == 81
    for port, message in (("web", 'strconv.Atoi: parsing "web": invalid syntax'), ("99999", "invalid port number: 99999")):
        with pytest.raises(ValueError, match=message):
            probe_messages.port_number(port, {})
