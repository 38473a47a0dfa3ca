"""pods/proxy and services/proxy of the embedded API server, with a kubelet server and a server in a pod."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import ssl
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import aiohttp
import pytest
from tests.embedded.apiserver.http import proxied_pod
from tests.embedded.apiserver.http.running_cluster import RunningApi
from tests.embedded.kubelet.server.stream_clients import wait_until
from tools.kube.certificates import Authority
from yarl import URL

from traincrew.embedded.kubelet.server import server as kubelet_server
from traincrew.embedded.pki import certificates

CORE = f"/api/v1/namespaces/{proxied_pod.NAMESPACE}"
POD, SERVICE = f"{CORE}/pods/web/proxy", f"{CORE}/services/web:http/proxy"
ADDRESS = "10.244.0.9"
PLAIN = "tls: first record does not look like a TLS handshake"


class Proxied(NamedTuple):
    api: RunningApi
    server: proxied_pod.PodServer
    secure: proxied_pod.PodServer
    """The same with TLS."""

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        async with self.api.http.get(path, allow_redirects=False, **options) as response:
            text = await response.text()
            return response.status, json.loads(text) if "json" in response.content_type else text


@pytest.fixture
async def proxied(api: RunningApi, tmp_path: pathlib.Path) -> AsyncIterator[Proxied]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*Authority(tmp_path).server("pod"))
    auth = kubelet_server.KubeletAuth(names=frozenset({certificates.KUBELET_CLIENT}))
    async with proxied_pod.pod_server() as server, proxied_pod.pod_server(context) as secure:
        runtime = proxied_pod.runtime(tmp_path / "containers", server.port, secure.port)
        app = kubelet_server.application(runtime, auth)
        async with kubelet_server.serve(app, "127.0.0.1", 0, api.control_plane.pki.server_context()) as port:
            runtime.uids["web"] = await proxied_pod.create_objects(api.http, ADDRESS, server.port, port)
            yield Proxied(api, server, secure)


def _headers(seen: dict[str, Any]) -> dict[str, str]:
    return dict(seen["headers"])


BASES = (POD, SERVICE, f"{CORE}/services/web:80/proxy", f"{CORE}/services/http:web:http/proxy")


async def test_every_method_reaches_the_server(proxied: Proxied) -> None:
    for base in BASES:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            url = URL(f"{proxied.api.url}{base}/a/b?c=d&c=e%2Ff", encoded=True)
            async with proxied.api.http.request(method, url, data=b"body") as response:
                seen = await response.json()
            assert (base, seen.get("method"), seen.get("path"), seen.get("size")) == (base, method, "/a/b?c=d&c=e%2Ff", 4), seen


async def test_head_has_the_headers_and_no_body(proxied: Proxied) -> None:
    async with proxied.api.http.head(f"{POD}/x") as response:
        assert (response.status, response.content_type, await response.read()) == (200, "application/json", b"")
        assert int(response.headers["Content-Length"]) > 0


async def test_the_status_of_the_server_is_returned(proxied: Proxied) -> None:
    assert (await proxied.get(f"{SERVICE}/x?status=418"))[0] == 418


async def test_credentials_do_not_reach_the_pod(proxied: Proxied) -> None:
    given = {"Impersonate-User": "admin", "Impersonate-Group": "system:masters", "Cookie": "a=b", "X-Mine": "1"}
    async with proxied.api.http.get(f"{POD}/x", headers=given) as response:
        seen = _headers(await response.json())
    assert not any(name.startswith("impersonate-") or name == "authorization" for name in seen)
    assert (seen["cookie"], seen["x-mine"], seen["x-forwarded-for"], seen["x-forwarded-uri"]) == (
        "a=b",
        "1",
        "127.0.0.1",
        f"{POD}/x",
    )


async def test_headers_of_the_connection_are_not_passed_on(proxied: Proxied) -> None:
    given = {"Connection": "X-Once", "X-Once": "1", "Keep-Alive": "1", "TE": "trailers, deflate", "Proxy-Authorization": "x"}
    async with proxied.api.http.get(f"{POD}/x", headers=given) as response:
        seen = _headers(await response.json())
    assert seen["te"] == "trailers"
    assert not {"x-once", "keep-alive", "proxy-authorization"} & seen.keys()


async def test_headers_of_the_response(proxied: Proxied) -> None:
    async with proxied.api.http.get(f"{POD}/headers") as response:
        headers = response.headers
        assert headers.getall("Set-Cookie") == ["a=1", "b=2"]
        assert headers.getall("Cache-Control") == ["no-cache, private", "max-age=9"]
        assert "X-Kept" in headers
        assert not {"X-Dropped", "Keep-Alive", "Access-Control-Allow-Origin"} & set(headers)


async def test_the_root_needs_a_slash(proxied: Proxied) -> None:
    async with proxied.api.http.get(f"{POD}?a=b", allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (301, f"{POD}/?a=b")
    assert (await proxied.get(f"{POD}/"))[1]["path"] == "/"


REDIRECTS = (
    ("/login/?next=/x", f"{POD}/login/?next=/x"),
    ("relative", "relative"),
    ("https://other.example/x", "https://other.example/x"),
    (f"{POD}/x", f"{POD}/x"),
    ("http://{pod}/x", f"{POD}/x"),
)


async def test_redirects_lead_through_the_proxy(proxied: Proxied) -> None:
    for to, location in REDIRECTS:
        query = {"to": to.format(pod=f"{ADDRESS}:{proxied.server.port}")}
        async with proxied.api.http.get(f"{POD}/redirect", params=query, allow_redirects=False) as response:
            assert (to, response.status, response.headers["Location"]) == (to, 302, location)


@pytest.mark.parametrize("encoding", ["", "gzip"])
async def test_links_of_pages_lead_through_the_proxy(proxied: Proxied, encoding: str) -> None:
    async with proxied.api.http.get(f"{POD}/page?encoding={encoding}", headers={"Accept-Encoding": encoding}) as response:
        body = await response.read()
    text = (gzip.decompress(body) if encoding else body).decode()
    changed = {'"/style.css"': f'"{POD}/style.css"', "'/app.js?a=1&amp;b=2'": f'"{POD}/app.js?a=1&amp;b=2"'}
    changed |= {'background="/back"': f'background="{POD}/back"', 'href="/abs/"': f'href="{POD}/abs/"'}
    expected = proxied_pod.PAGE.replace('img src="/i.png"', f'img src="{POD}/i.png"')
    for before, after in changed.items():
        expected = expected.replace(before, after)
    assert text == expected


@pytest.mark.parametrize("kind", ["text/event-stream", "text/html"])
async def test_the_response_is_streamed(proxied: Proxied, kind: str) -> None:
    async with proxied.api.http.get(f"{POD}/slow?type={kind}") as response:
        assert await response.content.readline() == b"first\n"
        proxied.server.go_on.set()
        assert await response.content.read() == b"second\n"


async def test_the_request_body_is_streamed_without_a_limit(proxied: Proxied) -> None:
    pieces, sent = [os.urandom(1 << 20) for _ in range(8)], hashlib.sha256()

    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            sent.update(piece)
            yield piece

    async with proxied.api.http.put(f"{POD}/x", data=body()) as response:
        seen = await response.json()
    assert (seen["size"], seen["sha"]) == (8 << 20, sent.hexdigest())


async def test_a_client_that_leaves_ends_the_request_to_the_pod(proxied: Proxied) -> None:
    with pytest.raises(TimeoutError):
        async with proxied.api.http.get(f"{POD}/never", timeout=aiohttp.ClientTimeout(total=1)):
            pass
    await wait_until(lambda: proxied.server.waiting == 0)


async def test_a_response_that_breaks_off_is_not_complete(proxied: Proxied) -> None:
    with pytest.raises(aiohttp.ClientError):
        async with proxied.api.http.get(f"{POD}/broken") as response:
            await response.read()


async def test_websockets_are_tunneled(proxied: Proxied) -> None:
    async with proxied.api.http.ws_connect(f"{SERVICE}/socket?a=b", protocols=("chat",)) as socket:
        path, headers = json.loads((await socket.receive()).data)
        assert path == "/socket?a=b"
        assert "authorization" not in headers
        await socket.send_bytes(content := os.urandom(1_000_000))
        assert (await socket.receive()).data == content


async def test_the_token_in_the_protocols_of_a_websocket_does_not_reach_the_pod(proxied: Proxied) -> None:
    token = base64.urlsafe_b64encode(proxied.api.control_plane.admin_token.encode()).decode().rstrip("=")
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=proxied.api.control_plane.pki.authority.decode()))
    async with aiohttp.ClientSession(proxied.api.url, connector=connector) as page:
        protocols = (f"base64url.bearer.authorization.k8s.io.{token}", "chat")
        async with page.ws_connect(f"{POD}/socket", protocols=protocols) as socket:
            assert socket.protocol == "chat"
            _, headers = json.loads((await socket.receive()).data)
        assert "sec-websocket-protocol" in headers
        async with page.ws_connect(f"{POD}/socket", protocols=protocols[:1]) as socket:
            _, headers = json.loads((await socket.receive()).data)
        assert "sec-websocket-protocol" not in headers


async def test_a_rejected_upgrade_is_passed_on(proxied: Proxied) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as error:
        await proxied.api.http.ws_connect(f"{POD}/socket?refuse=1")
    assert error.value.status == 403


async def test_https_of_a_pod_is_not_verified(proxied: Proxied) -> None:
    base = f"{CORE}/pods/https:web:{proxied.secure.port}/proxy"
    assert (await proxied.get(f"{base}/x"))[1]["path"] == "/x"
    async with proxied.api.http.ws_connect(f"{base}/socket") as socket:
        assert json.loads((await socket.receive()).data)[0] == "/socket"
    status, body = await proxied.get(f"{CORE}/pods/https:web:{proxied.server.port}/proxy/x")
    assert (status, body["message"]) == (503, f"error trying to reach service: {PLAIN}")


ERRORS = (
    ("pods/none:80", 404, 'pods "none" not found'),
    ("pods/a:b:c:d", 400, 'invalid pod request "a:b:c:d"'),
    ("pods/ftp:web:80", 400, 'invalid pod request "ftp:web:80"'),
    ("pods/without-address", 400, "address not allowed"),
    ("pods/web:1", 503, f"error trying to reach service: dial tcp {ADDRESS}:1: connect: connection refused"),
    ("services/none", 404, 'services "none" not found'),
    ("services/none:80", 404, 'services "none" not found'),
    ("services/web:81", 503, 'no service port 81 found for service "web"'),
    ("services/web:other", 503, 'no endpoints available for service "web:other"'),
    ("services/empty:80", 503, 'no endpoints available for service "empty"'),
    ("services/not-ready:80", 503, 'no endpoints available for service "not-ready:80"'),
    ("services/elsewhere:80", 503, 'no endpoints available for service "elsewhere:80"'),
    ("services/wrong-ip:80", 503, 'no endpoints available for service "wrong-ip:80"'),
)


async def test_errors_are_status_objects(proxied: Proxied) -> None:
    for name, code, message in ERRORS:
        status, body = await proxied.get(f"{CORE}/{name}/proxy/")
        assert (name, status, body["kind"], body["message"]) == (name, code, "Status", message)


async def test_paths_cannot_leave_the_pod(proxied: Proxied) -> None:
    async with proxied.api.http.get(URL(f"{proxied.api.url}{POD}/a/%2e%2e/%2e%2e/%2e%2e/b", encoded=True)) as response:
        assert (await response.json())["path"] == "/b"


async def test_pages_of_other_origins_do_not_reach_pods(proxied: Proxied) -> None:
    for origin in ("http://127.0.0.1:8001", "http://localhost:8001", "http://[::1]:8001"):
        assert (await proxied.get(f"{POD}/x", headers={"Origin": origin}))[0] == 200, origin
    for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example:8001", "file://localhost"):
        assert (await proxied.get(f"{POD}/x", headers={"Origin": origin}))[0] == 403, origin


async def test_pages_behind_kubectl_proxy_reach_pods_alone(proxied: Proxied) -> None:
    assert (await proxied.get(f"{CORE}/pods", headers={"Origin": "http://127.0.0.1:8001"}))[0] == 403


async def test_each_method_needs_its_verb(proxied: Proxied) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    role: dict[str, Any] = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}}
    role["rules"] = [{"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get", "create"], "resourceNames": ["web"]}]
    bound = role | {"kind": "RoleBinding", "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}}
    bound["subjects"] = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eva"}]
    for resource, body in (("roles", role), ("rolebindings", {key: bound[key] for key in bound if key != "rules"})):
        async with proxied.api.http.post(f"{rbac}/{resource}", json=body) as response:
            assert response.status == 201, await response.text()

    async def status(method: str, path: str) -> int:
        async with proxied.api.http.request(method, path, headers={"Impersonate-User": "eva"}) as response:
            return response.status

    allowed = {
        method: await status(method, f"{POD}/x") for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    }
    assert {method for method, code in allowed.items() if code == 200} == {"GET", "HEAD", "POST"}
    assert set(allowed.values()) == {200, 403}
    assert await status("GET", f"{CORE}/pods/web:{proxied.server.port}/proxy/x") == 403


async def test_an_unreachable_kubelet_is_an_error(proxied: Proxied) -> None:
    with contextlib.closing(await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)) as closed:
        port = closed.sockets[0].getsockname()[1]
    patch = {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}}
    headers = {"Content-Type": "application/merge-patch+json"}
    async with proxied.api.http.patch(f"/api/v1/nodes/{proxied_pod.NODE}/status", json=patch, headers=headers) as response:
        assert response.status == 200
    status, body = await proxied.get(f"{POD}/x")
    assert (status, body["kind"]) == (500, "Status")
    assert "error dialing backend: dial tcp 127.0.0.1" in body["message"]
