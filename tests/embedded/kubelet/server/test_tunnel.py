"""Tunnels through the API server to the kubelet: unchanged data, and the error messages of the API server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import kubernetes
import pytest
import uvloop
from tests.embedded.kubelet.server import stream_clients, streaming_apiserver
from tests.embedded.kubelet.server.nodes import TOKEN, Node
from tests.embedded.kubelet.server.process_runtime import ProcessRuntime
from tests.embedded.kubelet.server.stream_clients import query, wait_until
from tests.embedded.kubelet.server.streaming_apiserver import StreamingApiServer
from tools.kube import certificates

from traincrew.embedded.kubelet.server import server

PODS = "/api/v1/namespaces/ns/pods"
CAT = PODS + "/pod/exec?" + query("cat", channels="stdin stdout")


@pytest.fixture
async def api(node: Node, authority: certificates.Authority) -> AsyncIterator[StreamingApiServer]:
    async with streaming_apiserver.serve(node, authority) as serving:
        serving.add("ns", "pod", "main")
        yield serving


@pytest.fixture
async def user(api: StreamingApiServer) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of the API server, without the address and the token of the kubelet."""
    async with aiohttp.ClientSession(api.url, connector=aiohttp.TCPConnector(ssl=api.node.ssl)) as session:
        yield session


def as_node(api: StreamingApiServer) -> Node:
    """The API server as the target of the tests' SPDY client."""
    node = Node(api.node.runtime, urlsplit(api.url).port or 0, api.node.authority)
    node.headers = {}
    return node


async def _round_trip(running: stream_clients.ExecClient, content: bytes) -> None:
    for at in range(0, len(content), 100_000):
        await running.send("stdin", content[at : at + 100_000])
    await running.close_stdin()
    assert await running.outcome() == 0
    assert running.received["stdout"] == content


async def test_a_websocket_passes_through_unchanged(user: aiohttp.ClientSession) -> None:
    async with stream_clients.websocket_exec(user, CAT) as running:
        await _round_trip(running, os.urandom(5_000_000))


async def test_spdy_passes_through_unchanged(api: StreamingApiServer) -> None:
    async with stream_clients.spdy_exec(
        as_node(api), CAT.replace("stdin", "input=1&stdin").replace("stdout", "output=1&stdout")
    ) as running:
        await _round_trip(running, os.urandom(5_000_000))


async def test_a_disconnect_reaches_the_command(api: StreamingApiServer, user: aiohttp.ClientSession) -> None:
    sessions = api.node.runtime.containers["ns", "pod", "main"].sessions
    before = len(sessions)
    async with stream_clients.websocket_exec(user, PODS + "/pod/exec?" + query("sleep", "1000", channels="stdout")):
        await wait_until(lambda: len(sessions) > before)
    assert await sessions[-1].wait() == 137


async def test_the_official_client_forwards_a_port(api: StreamingApiServer, tmp_path: pathlib.Path) -> None:
    """It sends its request as soon as the WebSocket is open, before the kubelet has connected to the pod."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await reader.read()  # the client closes first: its thread fails if the server does

    def exchange(client: kubernetes.client.ApiClient) -> bytes:
        core = kubernetes.client.CoreV1Api(client)
        forward = kubernetes.stream.portforward(core.connect_get_namespaced_pod_portforward, "pod", "ns", ports="80")
        with contextlib.closing(forward.socket(80)) as connection:
            connection.settimeout(30)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: pod\r\n\r\n")
            received: bytes = connection.recv(1000)
        while forward.connected:
            time.sleep(0.01)  # the client closes its WebSocket in a thread of its own
        return received

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        api.node.runtime.ports["pod", 80] = server.sockets[0].getsockname()[1]
        client = kubernetes.config.new_client_from_config(str(api.kubeconfig(tmp_path / "kubeconfig")))
        for _ in range(10):
            api.node.runtime.connectable.clear()
            exchanging = asyncio.create_task(asyncio.to_thread(exchange, client))
            await asyncio.wait({exchanging}, timeout=0.1)
            api.node.runtime.connectable.set()
            assert (await exchanging).startswith(b"HTTP/1.1 204 ")


async def test_a_server_that_shuts_down_closes_its_tunnels(node: Node, authority: certificates.Authority) -> None:
    async with contextlib.AsyncExitStack() as stack:
        serving = await stack.enter_async_context(streaming_apiserver.serve(node, authority))
        serving.add("ns", "pod", "main")
        connector = aiohttp.TCPConnector(ssl=node.ssl)
        session = await stack.enter_async_context(aiohttp.ClientSession(serving.url, connector=connector))
        await stack.enter_async_context(stream_clients.websocket_exec(session, CAT))
        await wait_until(lambda: node.runtime.containers["ns", "pod", "main"].sessions)
        async with asyncio.timeout(10):  # the server would wait 30 seconds for its handlers
            await serving.app.shutdown()
            assert await node.runtime.containers["ns", "pod", "main"].sessions[0].wait() == 137


async def test_errors_of_the_kubelet_are_passed_on_unchanged(api: StreamingApiServer, user: aiohttp.ClientSession) -> None:
    api.add("ns", "pod", "gone")
    for path, code, text in (
        (f"{PODS}/pod/exec?command=x&stdout=1", 500, 'container not found ("gone")'),
        (f"{PODS}/pod/exec?command=x", 400, "you must specify at least 1 of stdin, stdout, stderr"),
    ):
        async with user.post(path, headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}) as response:
            assert (response.status, await response.text()) == (code, text)


async def test_a_request_without_an_upgrade_is_rejected(user: aiohttp.ClientSession) -> None:
    async with user.post(PODS + "/pod/exec?command=x&stdout=1") as response:
        assert (response.status, (await response.json())["message"]) == (400, "Upgrade request required")


@pytest.fixture
def closed_port() -> int:
    """A port without a listener."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


async def test_an_unreachable_node_is_reported_as_by_kube_apiserver(
    api: StreamingApiServer, user: aiohttp.ClientSession, closed_port: int
) -> None:
    api.port = closed_port
    refused = f"dial tcp 127.0.0.1:{closed_port}: connect: connection refused"
    async with user.post(CAT, headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}) as response:
        assert (response.status, await response.json()) == (500, _failure(f"error dialing backend: {refused}"))
    async with user.get(PODS + "/pod/log?tailLines=3") as response:
        url = f"https://127.0.0.1:{closed_port}/containerLogs/ns/pod/main?tailLines=3"
        assert (response.status, await response.json()) == (500, _failure(f'Get "{url}": {refused}'))


def _failure(message: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": 500}


async def test_a_kubelet_of_another_authority_is_not_trusted(
    api: StreamingApiServer, user: aiohttp.ClientSession, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "other").mkdir()
    certificate, key = certificates.Authority(tmp_path / "other").server("kubelet")
    app = server.application(api.node.runtime, server.KubeletAuth(TOKEN))
    async with server.serve(app, "127.0.0.1", 0, server.tls(str(certificate), str(key))) as port:
        api.port = port
        async with user.get(PODS + "/pod/log") as response:
            assert response.status == 500
            assert "tls: failed to verify certificate: x509:" in (await response.json())["message"]
        async with user.post(CAT, headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}) as response:
            assert "tls: failed to verify certificate: x509:" in (await response.json())["message"]


async def test_logs_are_streamed(api: StreamingApiServer, user: aiohttp.ClientSession) -> None:
    container = api.node.runtime.containers["ns", "pod", "main"]
    await container.write_log("one", "two")
    async with user.get(PODS + "/pod/log?follow=true&tailLines=1") as response:
        assert response.headers["Content-Type"] == "text/plain"
        assert await response.content.readline() == b"two\n"
        await container.write_log("three")
        assert await response.content.readline() == b"three\n"
    await wait_until(lambda: container.followers == 0)


async def test_an_idle_follower_is_released_when_it_disconnects(api: StreamingApiServer, user: aiohttp.ClientSession) -> None:
    container = api.node.runtime.containers["ns", "pod", "main"]
    async with user.get(PODS + "/pod/log?follow=true"):
        await wait_until(lambda: container.followers == 1)
    await wait_until(lambda: container.followers == 0)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (
            "/pod/log",
            {
                "message": 'container "main" in pod "pod" is waiting to start: ContainerCreating',
                "reason": "BadRequest",
                "code": 400,
            },
        ),
        (
            "/gone/log",
            {
                "message": "the server could not find the requested resource ( pods/log gone)",
                "reason": "NotFound",
                "details": {"name": "gone", "kind": "pods/log"},
                "code": 404,
            },
        ),
    ],
)
async def test_a_log_error_of_the_kubelet_becomes_a_status(
    api: StreamingApiServer, user: aiohttp.ClientSession, path: str, status: dict[str, Any]
) -> None:
    api.node.runtime.containers["ns", "pod", "main"].waiting = "ContainerCreating"
    api.add("ns", "gone", "main")
    async with user.get(PODS + path) as response:
        assert response.status == status["code"]
        assert await response.json() == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", **status}


def test_tunnels_work_with_uvloop(tmp_path: pathlib.Path) -> None:
    async def tunneled() -> None:
        runtime = ProcessRuntime(tmp_path / "containers")
        runtime.add("ns", "pod", "main")
        authority = certificates.Authority(tmp_path)
        certificate, key = authority.server("kubelet")
        context = server.tls(str(certificate), str(key), str(authority.path))
        app = server.application(runtime, server.KubeletAuth(TOKEN))
        async with server.serve(app, "127.0.0.1", 0, context) as port:
            node = Node(runtime, port, authority)
            async with streaming_apiserver.serve(node, authority) as serving:
                serving.add("ns", "pod", "main")
                await _with_both(serving)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(tunneled())


async def _with_both(api: StreamingApiServer) -> None:
    checks: list[Callable[[], Awaitable[None]]] = [lambda: test_spdy_passes_through_unchanged(api)]
    async with aiohttp.ClientSession(api.url, connector=aiohttp.TCPConnector(ssl=api.node.ssl)) as user:
        checks += [
            lambda: test_a_websocket_passes_through_unchanged(user),
            lambda: test_a_disconnect_reaches_the_command(api, user),
            lambda: test_logs_are_streamed(api, user),
        ]
        for check in checks:
            await check()
