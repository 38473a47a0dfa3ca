"""pods/proxy and services/proxy of a real API server and of the embedded one: the pod and the client see the same."""

from __future__ import annotations

import contextlib
import json
import pathlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from tests.differential import servers
from tests.differential.target import Target
from tests.embedded.apiserver.http import proxied_pod, running_cluster
from yarl import URL

from traincrew.embedded.kubelet.server import server as kubelet_server
from traincrew.embedded.pki import certificates

CORE = f"/api/v1/namespaces/{proxied_pod.NAMESPACE}"
POD, SERVICE = f"{CORE}/pods/web/proxy", f"{CORE}/services/web:http/proxy"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
NAMES = (
    "pods/none", "pods/none:80", "pods/a:b:c:d", "pods/ftp:web:80", "pods/:80", "pods/without-address", "pods/web:1",
    "pods/https:web", "services/none", "services/none:80", "services/web", "services/web:81", "services/web:-1",
    "services/web:other", "services/a:b:c:d", "services/empty", "services/empty:80", "services/not-ready:80",
    "services/elsewhere:80", "services/wrong-ip:80", "services/https:web:http",
)  # fmt: skip
PATHS = (
    "", "/", "?a=b", "/a", "/a/", "//a", "/a//b/", "/a/../b", "/../../x", "/%2e%2e/x", "/a%2Fb", "/a%20b+c", "/%C3%BC", "/%ff",
    "/!*'()[]", "/x;y=1,z:@$&", "/x?a=%2F&b=c+d&a", "/x?", "/x?dryRun=All", "/x?status=404", "/x?status=503",
    "/headers", "/broken", "/page", "/page/", "/redirect?to=/x", "/redirect?to=/x/?a=b", "/redirect?to=x", "/redirect?to=http://other.example/x",
    f"/redirect?to={POD}/x", "/redirect?to=//other.example/x", "/redirect?to=?a=b", "/redirect?to=http://[::bad/",
    "/redirect?to=",
)  # fmt: skip
SENT = {
    "Accept-Encoding": "identity", "X-Mine": "1", "Connection": "X-Once, keep-alive", "X-Once": "1", "Keep-Alive": "2",
    "TE": "trailers", "Proxy-Authorization": "x", "X-Forwarded-For": "10.9.8.7", "X-Forwarded-Host": "h",
    "X-Forwarded-Proto": "p", "Cookie": "a=b",
    "Impersonate-User": "admin", "Impersonate-Group": "system:masters", "User-Agent": "agent", "Via": "1.1 x",
}  # fmt: skip
COMPARED = (
    "Location",
    "Content-Type",
    "Content-Length",
    "Cache-Control",
    "Set-Cookie",
    "X-Kept",
    "X-Dropped",
    "Keep-Alive",
    "Allow",
)


def machine_address() -> str:
    """An address of this machine that a real API server connects to: it rejects loopback addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    pytest.skip("this machine has no address but the loopback one")


@pytest.fixture
async def both(tmp_path: pathlib.Path) -> AsyncIterator[tuple[aiohttp.ClientSession, aiohttp.ClientSession]]:
    """Clients of the real API server and of the embedded one. Both lead to one pod."""
    address = machine_address()
    auth = kubelet_server.KubeletAuth(names=frozenset({certificates.KUBELET_CLIENT}))
    with servers.real_kubeconfig() as kubeconfig:
        target = Target.from_kubeconfig("real", kubeconfig)
        async with contextlib.AsyncExitStack() as stack:
            server = await stack.enter_async_context(proxied_pod.pod_server())
            ours = await stack.enter_async_context(running_cluster.running_api(tmp_path / "data"))
            runtime = proxied_pod.runtime(tmp_path / "containers", server.port)
            app = kubelet_server.application(runtime, auth)
            context = ours.control_plane.pki.server_context()
            port = await stack.enter_async_context(kubelet_server.serve(app, "127.0.0.1", 0, context))
            connector = aiohttp.TCPConnector(ssl=target.context)
            headers = {"Authorization": f"Bearer {target.token}"} if target.token else {}
            session = aiohttp.ClientSession(f"https://{target.host}:{target.port}", connector=connector, headers=headers)
            real = await stack.enter_async_context(session)
            await proxied_pod.create_objects(real, address, server.port, port)
            runtime.uids["web"] = await proxied_pod.create_objects(ours.http, address, server.port, port)
            yield real, ours.http


def _compared(content: dict[str, Any], path: str) -> dict[str, Any]:
    """Without what differs: our connections serve one request each, and a real API server repeats parts of paths with dots."""
    left_out = {"connection"} | ({"x-forwarded-uri"} if ".." in path or "%2e" in path or "a//b" in path else set())
    return content | {"headers": [pair for pair in content.get("headers", ()) if pair[0] not in left_out]}


async def _seen(api: aiohttp.ClientSession, method: str, path: str, body: bytes | None = None) -> Any:
    """What the client sees, and in the body what the pod has seen."""
    base = api._base_url
    assert base is not None
    own = f"{base.host}:{base.port}"
    try:
        async with api.request(
            method, URL(f"{base.origin()}{path}", encoded=True), headers=SENT, data=body, allow_redirects=False
        ) as response:
            text = (await response.text(errors="replace")).replace(own, "SERVER")
            headers = {name: response.headers.getall(name) for name in COMPARED if name in response.headers}
            content: Any = json.loads(text) if text and response.content_type == "application/json" else text
            if isinstance(content, dict):
                content = _compared(content, path)
            if isinstance(content, dict) or "Content-Length" in headers:
                headers.pop("Content-Length", None)
            return response.status, headers, content
    except aiohttp.ClientError:
        return "broken off"


async def test_the_embedded_api_server_proxies_as_a_real_one(
    both: tuple[aiohttp.ClientSession, aiohttp.ClientSession],
) -> None:
    requests: list[tuple[str, str, bytes | None]] = [(method, f"{POD}/x?y=z", b"body") for method in METHODS]
    requests += [("GET", base + path, None) for base in (POD, SERVICE) for path in PATHS]
    requests += [("POST", f"{POD}{path}", b"") for path in ("", "/", "?a=b")]
    requests += [("GET", f"{CORE}/{name}/proxy/", None) for name in NAMES]
    different = []
    for request in requests:
        theirs, ours = [await _seen(api, *request) for api in both]
        if theirs != ours:
            different.append(f"{request[0]} {request[1]}\n  real: {theirs}\n  ours: {ours}")
    assert not different, f"{len(different)} of {len(requests)}\n" + "\n".join(different)
