"""HTTP probes and hooks as those of the kubelet (k8s.io/kubernetes 1.32, pkg/probe/http, pkg/kubelet/lifecycle)."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest

from traincrew.embedded.kubelet.pods.http_get import HttpGetAction, HttpGetHook
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.probe_actions import ProbeResult
from traincrew.embedded.pki import certificates

HOST = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def redirect(location: str, code: int = 302, body: bytes = b"moved") -> bytes:
    return b"HTTP/1.1 %d Found\r\nLocation: %s\r\nContent-Length: %d\r\n\r\n%s" % (code, location.encode(), len(body), body)


class Server:
    """Sends the responses in turn, the last one for ever, and keeps the requests. It never closes a connection first."""

    def __init__(self, *responses: bytes, context: ssl.SSLContext | None = None) -> None:
        self.responses, self.requests = list(responses), list[list[str]]()
        self._context = context
        self.port = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Server]:
        async with await asyncio.start_server(self._serve, HOST, 0, ssl=self._context) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2])
            writer.write(self.responses.pop(0) if len(self.responses) > 1 else self.responses[0])
            await reader.read()

    def paths(self) -> list[str]:
        return [each[0].split()[1] for each in self.requests]


@pytest.fixture
def network(tmp_path: pathlib.Path) -> PodNetwork:
    return PodNetwork(None, HOST, tmp_path)


def get(network: PodNetwork, server: Server, **action: Any) -> HttpGetAction:
    return HttpGetAction(network, HOST, server.port, action)


async def run(action: HttpGetAction | HttpGetHook) -> ProbeResult:
    async with asyncio.timeout(20):
        return await action.run()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_to_the_same_host_is_followed(network: PodNetwork, code: int) -> None:
    async with Server(redirect("/login?a=b", code), b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n").running() as server:
        result = await run(get(network, server, path="/"))
    assert result == ProbeResult(False, "HTTP probe failed with statuscode: 500")
    assert server.paths() == ["/", "/login?a=b"]


async def test_a_redirect_to_another_port_of_the_host_is_followed(network: PodNetwork) -> None:
    async with Server(OK).running() as other, Server(redirect(f"http://{HOST}:{other.port}/x")).running() as server:
        assert await run(get(network, server, httpHeaders=[{"name": "host", "value": "me"}])) == ProbeResult(True, "ok")
        assert "Host: me" in server.requests[0]
        assert other.requests[0][:2] == ["GET /x HTTP/1.1", f"Host: {HOST}:{other.port}"]


async def test_a_redirect_to_another_host_passes_with_a_warning(network: PodNetwork) -> None:
    async with Server(redirect("http://example.com/")).running() as server:
        result = await run(get(network, server))
    assert result == ProbeResult(True, "", "Probe terminated redirects, Response body: moved")
    assert len(server.requests) == 1


async def test_redirects_without_end_fail(network: PodNetwork) -> None:
    async with Server(redirect("/again")).running() as server:
        result = await run(get(network, server))
    assert result == ProbeResult(False, f'Get "http://{HOST}:{server.port}/again": stopped after 10 redirects')
    assert len(server.requests) == 10


async def test_a_redirect_without_location_passes_with_a_warning(network: PodNetwork) -> None:
    async with Server(b"HTTP/1.1 304 Not Modified\r\n\r\n").running() as server:
        assert (await run(get(network, server))).warning == "Probe terminated redirects, Response body: "


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ([], ["User-Agent: kube-probe/traincrew", "Accept: */*", "Connection: close"]),
        (
            [{"name": "x-a", "value": "1"}, {"name": "X-A", "value": "2"}],
            ["User-Agent: kube-probe/traincrew", "Accept: */*", "X-A: 1", "X-A: 2", "Connection: close"],
        ),
        ([{"name": "user-agent", "value": "me"}, {"name": "accept", "value": ""}], ["User-Agent: me", "Connection: close"]),
        ([{"name": "ACCEPT", "value": "a/b"}, {"name": "User-Agent"}], ["Accept: a/b", "Connection: close"]),
    ],
)
async def test_headers_are_sent_as_go_sends_them(network: PodNetwork, given: list[Any], sent: list[str]) -> None:
    async with Server(OK).running() as server:
        await run(get(network, server, path="a b?c=%41", httpHeaders=given))
    assert server.requests == [["GET /a%20b?c=%41 HTTP/1.1", f"Host: {HOST}:{server.port}", *sent]]


@pytest.mark.parametrize("name", ["Host", "host", "HOST"])
async def test_the_host_header_of_the_probe_is_the_only_one(network: PodNetwork, name: str) -> None:
    async with Server(OK).running() as server:
        await run(get(network, server, httpHeaders=[{"name": name, "value": "example.com"}]))
    assert [each for each in server.requests[0] if each.lower().startswith("host:")] == ["Host: example.com"]


async def test_a_header_cannot_add_lines_to_the_request(network: PodNetwork) -> None:
    async with Server(OK).running() as server:
        with pytest.raises(ValueError, match='net/http: invalid header field value for "X-A"'):
            await run(get(network, server, httpHeaders=[{"name": "x-a", "value": "1\r\nHost: b"}]))


@pytest.mark.parametrize(
    ("response", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n", "abc"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", ""),
        (b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + OK, "ok"),
    ],
)
async def test_the_end_of_a_body_is_found_although_the_connection_stays_open(
    network: PodNetwork, response: bytes, body: str
) -> None:
    async with Server(response).running() as server:
        assert await run(get(network, server)) == ProbeResult(True, body)


FEW = b"HTTP/1.1 103 Early Hints\r\nLink: %s\r\n\r\n" % (b"x" * 20_000)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"A%d: %s\r\n" % (number, b"x" * 60_000) for number in range(2)) + b"\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a:b\r\n" * 20_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000 + b"\r\n\r\n",
        FEW * 4 + OK,
    ],
    ids=["large", "many", "long", "informational"],
)
async def test_headers_of_more_than_64_kib_are_a_failure(network: PodNetwork, head: bytes) -> None:
    async with Server(head).running() as server:
        result = await run(get(network, server))
    why = "net/http: server response headers exceeded 65536 bytes; aborted"
    assert result == ProbeResult(False, f'Get "http://{HOST}:{server.port}/": {why}')


async def test_headers_of_less_than_64_kib_are_read(network: PodNetwork) -> None:
    many = b"HTTP/1.1 200 OK\r\n" + b"a:b\r\n" * 4_000 + b"Content-Length: 2\r\n\r\nok"
    async with Server(FEW * 2 + many).running() as server:
        assert await run(get(network, server)) == ProbeResult(True, "ok")


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    return certificates.ensure(tmp_path_factory.mktemp("pki"), [HOST]).server_context()


async def test_a_certificate_is_not_verified(network: PodNetwork, tls: ssl.SSLContext) -> None:
    async with Server(OK, context=tls).running() as server:
        assert await run(get(network, server, scheme="HTTPS")) == ProbeResult(True, "ok")


async def test_the_certificates_of_authorities_are_not_loaded_for_a_probe(
    network: PodNetwork, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading them takes tens of milliseconds, in which the daemon does nothing else."""
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", None)
    monkeypatch.setattr(ssl.SSLContext, "set_default_verify_paths", None)
    async with Server(OK, context=tls).running() as server:
        assert (await run(get(network, server, scheme="HTTPS"))).success


async def test_a_hook_succeeds_with_any_response(network: PodNetwork) -> None:
    async with Server(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").running() as server:
        assert await run(HttpGetHook(get(network, server))) == ProbeResult(True, "")
    result = await run(HttpGetHook(get(network, server)))
    assert (result.success, "connection refused" in result.message) == (False, True)


async def test_a_hook_asks_a_server_without_tls_again_but_without_credentials(network: PodNetwork) -> None:
    received = list[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            received.append(await reader.read(10_000))
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()

    async with await asyncio.start_server(serve, HOST, 0) as server:
        headers = [{"name": "authorization", "value": "secret"}, {"name": "A", "value": "b"}]
        action = {"scheme": "HTTPS", "httpHeaders": headers}
        assert (await run(HttpGetHook(HttpGetAction(network, HOST, server.sockets[0].getsockname()[1], action)))).success
    assert b"secret" not in received[1]
    assert b"\r\nA: b\r\n" in received[1]
