"""The proxy of a server: the environment is read as by Go."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import yarl

from traincrew import errors
from traincrew.client import connection, proxies
from traincrew.model.resources import PODS

if TYPE_CHECKING:
    from tests.client.conftest import ApiServer, Connect

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "env", "proxied"),
    [
        ("https://kube:6443", {"HTTPS_PROXY": PROXY}, True),
        ("https://kube:6443", {"https_proxy": PROXY}, True),
        ("https://kube:6443", {"HTTP_PROXY": PROXY}, False),
        ("http://kube:8080", {"HTTP_PROXY": PROXY}, True),
        ("https://kube:6443", {}, False),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, False),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, False),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, False),
        ("https://10.96.0.1", {"HTTPS_PROXY": PROXY, "NO_PROXY": "a.com, 10.0.0.0/8"}, False),
        ("https://11.96.0.1", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8,nonsense/99"}, True),
        ("https://10.96.0.1", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.96.0.1"}, False),
        ("https://10.96.0.11", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.96.0.1"}, True),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": "example.com"}, False),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": ".example.com"}, False),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*.example.com"}, False),
        ("https://anexample.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": "example.com"}, True),
        ("https://kube:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "kube:6443"}, False),
        ("https://kube:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "kube:443"}, True),
        ("https://kube:6443", {"HTTPS_PROXY": PROXY, "no_proxy": "*"}, False),
    ],
)
def test_the_proxy_is_read_from_the_environment(server: str, env: dict[str, str], proxied: bool) -> None:
    assert proxies.from_environment(yarl.URL(server), env) == (PROXY if proxied else "")


def test_a_proxy_without_a_scheme_is_an_http_proxy() -> None:
    assert proxies.from_environment(yarl.URL("https://k"), {"HTTPS_PROXY": "proxy:1"}) == "http://proxy:1"


def test_an_invalid_proxy_is_reported_without_its_password() -> None:
    with pytest.raises(errors.KubeconfigError, match="HTTPS_PROXY: invalid proxy URL") as caught:
        proxies.from_environment(yarl.URL("https://k"), {"HTTPS_PROXY": "socks5://u:hush@x:1"})
    assert "hush" not in str(caught.value)


@pytest.fixture
async def proxy() -> AsyncIterator[tuple[int, list[bytes]]]:
    """An HTTP proxy that records requests and responds with 407 to requests without a password."""
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        requests.append(head)
        if b"Proxy-Authorization" in head:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
        else:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1], requests


async def test_requests_use_the_proxy_with_its_password(connect: Connect, proxy: tuple[int, list[bytes]]) -> None:
    port, requests = proxy
    target = connection.ServerConnection("http://kube.example:8080", proxy=f"http://jane:hush@127.0.0.1:{port}")
    async with connect(target=target) as client:
        assert await client.get(PODS, "ns", "p") == b"[]"
    assert requests[0].startswith(b"GET http://kube.example:8080/api/v1/namespaces/ns/pods/p HTTP/1.1")
    assert base64.b64encode(b"jane:hush") in requests[0]


async def test_tls_uses_a_tunnel_and_a_rejection_by_the_proxy_is_reported(
    connect: Connect, proxy: tuple[int, list[bytes]]
) -> None:
    port, requests = proxy
    target = connection.ServerConnection("https://kube.example:6443", proxy=f"http://127.0.0.1:{port}")
    async with connect(target=target, attempts=1) as client:
        with pytest.raises(errors.Unreachable, match="the proxy responded with status 407"):
            await client.get(PODS, "ns", "p")
    assert requests[0].startswith(b"CONNECT kube.example:6443 HTTP/1.1")


async def test_an_unreachable_proxy_is_reported_without_its_password(server: ApiServer, connect: Connect) -> None:
    target = connection.ServerConnection(server.url, proxy="http://jane:hush@127.0.0.1:1")
    async with connect(target=target, attempts=1) as client:
        with pytest.raises(errors.Unreachable, match="the proxy is not reachable") as caught:
            await client.get(PODS, "ns", "p")
    assert "hush" not in str(caught.value)
    assert server.requests == []
